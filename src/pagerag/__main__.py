"""``python -m pagerag`` is the command ``pagerag``."""

import sys

from pagerag.cli import main

if __name__ == "__main__":
    sys.exit(main())
