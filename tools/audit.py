"""Look up known vulnerabilities of everything that ``pagerag[EXTRAS]`` installs, with pip-audit.

python tools/audit.py DIST [EXTRAS]

Where the advisory data cannot be reached it says so and ends with 0, so that an offline build does not fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

EXTRAS = "app,serve,mcp,parquet"


def main(arguments: list[str]) -> int:
    """Install into a fresh environment, audit it, print what was found; 1 for a vulnerability."""
    dist, extras, *_ = [*arguments, EXTRAS]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["uv", "venv", "--quiet", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        command = ["uv", "pip", "install", "--quiet", "--python", python, "--find-links", dist]
        subprocess.run([*command, f"pagerag[{extras}]"], check=True)
        (packages,) = (Path(folder) / "lib").glob("python*/site-packages")
        audit = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
        ended = subprocess.run([*audit, "--path", str(packages)], capture_output=True, text=True, check=False)
    return report(ended.stdout, ended.stderr)


def report(told: str, complaints: str) -> int:
    """Print what pip-audit found; a registry that knows none of the packages has no advisories either."""
    try:
        packages = json.loads(told)["dependencies"]
    except (ValueError, KeyError):
        print(f"not audited: {(complaints.strip().splitlines() or ['pip-audit said nothing'])[-1]}")
        return 0
    audited = [one for one in packages if "vulns" in one]
    bad = [one for one in audited if one["vulns"]]
    for one in bad:
        ids = ", ".join(found["id"] for found in one["vulns"])
        print(f"{one['name']} {one['version']}: {ids}")
    if not audited:
        print(f"not audited: the advisory data of {len(packages)} packages cannot be reached from here")
    else:
        print(f"{len(audited)} of {len(packages)} packages audited, {len(bad)} with a known vulnerability")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
