"""Weights of pagerag's larger extractive reader. ``FOLDER`` holds the files that ``manifest.json`` lists."""

from pathlib import Path

__all__ = ["FOLDER"]

FOLDER = Path(__file__).parent
