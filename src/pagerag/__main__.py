"""``python -m pagerag`` is the command ``pagerag``."""

from __future__ import annotations

import sys

from pagerag.cli import main

if __name__ == "__main__":
    sys.exit(main())
