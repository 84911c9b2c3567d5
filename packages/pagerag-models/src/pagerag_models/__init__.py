"""Weights of pagerag's small models. ``FOLDER`` holds the files that ``manifest.json`` lists."""

from pathlib import Path

__all__ = ["FOLDER"]

FOLDER = Path(__file__).parent
