"""Find a Chromium for the browser tests; say clearly where there is none."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str:
    """Return the browser's path: ``PAGERAG_TEST_CHROMIUM``, or the first that is installed."""
    named = os.environ.get("PAGERAG_TEST_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(
            "no Chromium is installed, so the page is not tested: run make browser, or apt-get install chromium"
        )
    return found
