"""The commands that the laboratory adds to ``pagerag``, found by entry point."""
