"""Requests made up from the server's own OpenAPI document: no 5xx, no undocumented response."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pagerag import Settings

from .conftest import running

pytestmark = pytest.mark.integration
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.timeout(240)
def test_no_5xx_and_no_undocumented_response(demo_store, tmp_path):
    """Schemathesis runs as its own command, for at most 25 seconds; files are not taken meanwhile."""
    command = Path(sys.executable).parent / "schemathesis"
    if not command.exists():
        pytest.skip("schemathesis is not installed (group serve-tests)")
    options = {"read.reader": "evidence", "serve.uploads": False, "serve.max_candidates": 50}
    with running(Settings().updated(options), {"demo": str(demo_store)}) as server:
        ended = subprocess.run(
            [
                command, "run", f"{server.url}/openapi.json", "--checks", CHECKS, "--max-examples", "4",
                "--max-time", "25", "--seed", "1", "--phases", "examples,coverage,fuzzing", "--no-color",
                "--suppress-health-check", "all",
            ],
            capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-4000:]
    counted = re.search(r"([\d,]+) generated, ([\d,]+) passed", ended.stdout)
    assert counted is not None, ended.stdout[-2000:]
    assert int(counted[1].replace(",", "")) >= 50
