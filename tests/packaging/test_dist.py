"""The built wheels, installed where no checkout is: what a stranger gets. ``make test-dist`` builds them.

``PAGERAG_PYTHON`` names another interpreter for the stranger's environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

DIST = os.environ.get("PAGERAG_DIST")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(DIST is None, reason="make test-dist builds the wheels that this installs"),
]

PACKAGES = {
    "pagerag": 3.5,
    "pagerag_models": 60.0,
    "pagerag_judge": 100.0,
    "pagerag_reader": 100.0,
    "pagerag_lab": 1.0,
    "langchain_pagerag": 0.1,
    "llama_index_postprocessor_pagerag_rerank": 0.1,
    "pagerag_haystack": 0.1,
}
"""The largest that each sdist and wheel may be, in megabytes."""


def built(name: str, suffix: str) -> Path:
    (found,) = (path for path in Path(str(DIST)).glob(f"{name}-[0-9]*") if path.name.endswith(suffix))
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_has_a_wheel_and_an_sdist_of_its_size(name: str) -> None:
    for suffix in (".whl", ".tar.gz"):
        assert built(name, suffix).stat().st_size < PACKAGES[name] * 1e6
    with zipfile.ZipFile(built(name, ".whl")) as packed:
        wheel = packed.namelist()
    with tarfile.open(built(name, ".tar.gz")) as archive:
        sdist = archive.getnames()
    assert any(entry.endswith("LICENSE") for entry in sdist) or name == "pagerag_lab"
    assert not any("tests" in entry.split("/") for entry in wheel)
    weights = [entry for entry in (*wheel, *sdist) if entry.endswith(".onnx")]
    assert bool(weights) == (name in {"pagerag_models", "pagerag_judge", "pagerag_reader"})
    if weights:  # whoever gets the weights gets their notice
        assert any(entry.endswith("NOTICE") for entry in wheel)
        assert any(entry.endswith("NOTICE") for entry in sdist)


def test_the_registry_shows_whole_links() -> None:
    with zipfile.ZipFile(built("pagerag", ".whl")) as wheel:
        (name,) = (entry for entry in wheel.namelist() if entry.endswith("METADATA"))
        metadata = wheel.read(name).decode()
    assert "Project-URL: Documentation" in metadata
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(links) > 10
    assert all(link.startswith(("https://", "#")) for link in links)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what the README says, made of the built wheels."""
    home = tmp_path_factory.mktemp("stranger")
    uv = Path(sys.executable).with_name("uv")
    interpreter = os.environ.get("PAGERAG_PYTHON", sys.executable)
    subprocess.run([uv, "venv", "--quiet", "--python", interpreter, home / ".venv"], check=True)
    python = home / ".venv" / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--python", python, "--find-links", DIST, "pagerag[app]"]
    subprocess.run([str(word) for word in install], check=True)
    return home


def run(home: Path, *words: str) -> str:
    kept = ("HOME", "LANG", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PATH": f"{home}/.venv/bin:/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_app_stays_small(stranger: Path) -> None:
    (packages,) = (stranger / ".venv" / "lib").glob("python*/site-packages")
    assert sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) < 350e6


def test_what_is_installed_is_not_the_checkout(stranger: Path) -> None:
    where = run(stranger, "python", "-c", "import pagerag, pagerag_models; print(pagerag.__file__)")
    assert where.startswith(str(stranger))
    listed = run(stranger, "python", "-c", "import importlib.util as u; print(u.find_spec('xllamacpp'))")
    assert listed.strip() == "None"


def test_the_demo_answers(stranger: Path) -> None:
    told = json.loads(run(stranger, "pagerag", "demo", "--json"))
    assert told["reader"] == "extractive"
    assert told["right"] == 3
    assert told["refused"] is True


def test_five_minutes_of_a_stranger(stranger: Path) -> None:
    notes = stranger / "notes"
    notes.mkdir()
    (notes / "film.md").write_text("# Solaris\n\nSolaris is a 1972 film directed by Andrei Tarkovsky.\n")
    (notes / "man.md").write_text("# Andrei Tarkovsky\n\nTarkovsky was born in Zavrazhye in 1932.\n")
    run(stranger, "pagerag", "index", "notes", "--store", "my-store")
    question = "Where was the director of Solaris born?"
    told = json.loads(run(stranger, "pagerag", "ask", question, "--store", "my-store", "--json"))
    assert "Zavrazhye" in told["answer"]["text"]
    pools = {
        "question": question,
        "candidates": ["Solaris is a film by Andrei Tarkovsky.", "Tarkovsky was born."],
    }
    (stranger / "pools.jsonl").write_text(json.dumps(pools) + "\n")
    assert "Solaris" in run(stranger, "pagerag", "promote", "pools.jsonl")
    assert "everything that is set up works" in run(stranger, "pagerag", "doctor")
