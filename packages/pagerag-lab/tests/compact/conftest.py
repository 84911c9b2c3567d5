"""The corpus and the scripted model are those of the product's tests of other systems."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "systems"))
