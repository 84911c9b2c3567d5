"""Weights of pagerag's larger support encoder. ``FOLDER`` holds the files that ``manifest.json`` lists."""

from pathlib import Path

__all__ = ["FOLDER"]

FOLDER = Path(__file__).parent
