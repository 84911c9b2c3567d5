"""The notebook of the docs runs from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "five-minutes.ipynb"

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_the_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("pagerag_models")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(
        not cell.get("outputs") for cell in notebook.cells
    )  # kept without outputs, so that none is stale
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", ()))
    assert "Vistula" in printed
    assert "Supporting paths" in printed
