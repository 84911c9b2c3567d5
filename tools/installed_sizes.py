"""Print what the bare package and its extras take on disk, each installed from DIST in a fresh environment.

python tools/installed_sizes.py dist [EXTRA ...]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

EXTRAS = (
    *("", "models", "app", "app,gguf", "app,parquet"),
    *("langchain", "llamaindex", "haystack", "dspy", "rerankers"),
)


def megabytes(folder: Path) -> float:
    """Return the size of all files in ``folder``, in units of 1,000,000 bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def measure(dist: str, extra: str) -> tuple[float, int]:
    """Install ``pagerag[extra]`` in an environment of its own; return megabytes and number of packages."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["uv", "venv", "--quiet", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        wanted = f"pagerag[{extra}]" if extra else "pagerag"
        command = ["uv", "pip", "install", "--quiet", "--link-mode", "copy", "--python", python]
        subprocess.run([*command, "--find-links", dist, wanted], check=True)
        (packages,) = (Path(folder) / "lib").glob("python*/site-packages")
        return megabytes(packages), len(list(packages.glob("*.dist-info")))


def main(arguments: list[str]) -> int:
    """Print a table, one line per extra."""
    dist, *extras = arguments or ["dist"]
    print("| install | packages | MB |\n|---|---:|---:|")
    for extra in extras or EXTRAS:
        size, count = measure(dist, extra)
        print(f"| `pagerag{f'[{extra}]' if extra else ''}` | {count} | {size:,.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
