"""Run the plug-ins' tests against the lowest and the newest version of each framework, and print a table.

    python tools/framework_versions.py dist [FRAMEWORK ...]

Each run has a fresh environment: pagerag and the partner package from the wheels in DIST, the framework in
the version that the resolver finds at that end, and pytest. The tests are those of ``tests/plugins`` for the
framework, its recipes in docs/plugins.md included. Exit code 1 when a run fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Framework:
    """What to install for a framework, and which tests are its own."""

    name: str
    extra: str
    package: str
    tests: tuple[str, ...]
    partner: str | None = None
    besides: tuple[str, ...] = ()


FRAMEWORKS = (
    Framework(
        "LangChain",
        "langchain",
        "langchain-core",
        ("test_langchain.py", "test_langchain_standard.py"),
        "langchain-pagerag",
        ("langchain-tests", "langchain-classic"),
    ),
    Framework(
        "LlamaIndex",
        "llamaindex",
        "llama-index-core",
        ("test_llamaindex.py",),
        "llama-index-postprocessor-pagerag-rerank",
    ),
    Framework("Haystack", "haystack", "haystack-ai", ("test_haystack.py",), "pagerag-haystack"),
    Framework("DSPy", "dspy", "dspy", ("test_dspy.py",)),
    Framework("rerankers", "rerankers", "rerankers", ("test_rerankers.py",)),
)


def requirement(extra: str, package: str) -> str:
    """Return what the extra asks of the framework's package, such as ``dspy>=3``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (found,) = (one for one in project["optional-dependencies"][extra] if one.startswith(package))
    return str(found)


def installed(python: Path, package: str) -> str:
    """Return the version of a package in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def outcome(output: str) -> str:
    """Return pytest's own counts, such as "61 passed, 2 skipped"."""
    counts = re.findall(r"(\d+ (?:passed|failed|error|errors|skipped))", output)
    return ", ".join(dict.fromkeys(counts)) or "did not run"


def try_version(framework: Framework, dist: str, resolution: str) -> tuple[str, str, bool]:
    """Test one end of the versions; return the version, the counts, and whether all passed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["uv", "venv", "--quiet", folder], check=True)
        python = Path(folder) / "bin" / "python"
        install = ["uv", "pip", "install", "--quiet", "--link-mode", "copy", "--find-links", dist]
        install += ["--python", str(python)]
        wanted = ["pagerag", *([framework.partner] if framework.partner else [])]
        spec = requirement(framework.extra, framework.package)
        subprocess.run([*install, "--resolution", resolution, *wanted, spec], check=True)
        version = installed(python, framework.package)
        pinned = f"{framework.package}=={version}"
        tools = ["pytest>=8", "pytest-timeout", "anyio", *framework.besides]
        subprocess.run([*install, pinned, *wanted, *tools], check=True)
        shared = ("test_contract.py", "test_recipes.py")
        tests = [f"tests/plugins/{name}" for name in (*framework.tests, *shared)]
        done = subprocess.run(
            [python, "-m", "pytest", "-W", "default", "-rf", *tests, "-k", _only(framework)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stdout[-4_000:], file=sys.stderr)
        return version, outcome(done.stdout.splitlines()[-1] if done.stdout else ""), done.returncode == 0


def _only(framework: Framework) -> str:
    """Return pytest's -k: the framework's own files, and what the shared ones have for it."""
    return f"{framework.extra} or {framework.name}"


def main(arguments: list[str]) -> int:
    """Print the table, one line per framework."""
    dist, *chosen = arguments or ["dist"]
    dist = str(Path(dist).resolve())
    print(f"Python {sys.version.split()[0]}\n")
    print("| framework | package | lowest | its tests | newest | its tests |\n|---|---|---|---|---|---|")
    whole = True
    for framework in FRAMEWORKS:
        if chosen and framework.extra not in chosen:
            continue
        low, low_tests, low_ok = try_version(framework, dist, "lowest-direct")
        high, high_tests, high_ok = try_version(framework, dist, "highest")
        whole = whole and low_ok and high_ok
        cells = (framework.name, framework.package, low, low_tests, high, high_tests)
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
