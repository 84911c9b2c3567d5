from __future__ import annotations

import sys
from pathlib import Path

# The test helpers beside this file are plain modules: importlib mode does not put them on the path.
sys.path.insert(0, str(Path(__file__).parent))
