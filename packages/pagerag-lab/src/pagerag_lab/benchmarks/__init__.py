"""Speed, memory and quality of the parts, each printed beside a yardstick of the same run."""
