"""Read benchmark files: every question becomes a value, and a bad record is named with file and line."""
