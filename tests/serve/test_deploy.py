"""The deployment files, by the linters of their formats, and what they promise."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent


def lint(*command):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(not (BIN / "hadolint").exists(), reason="hadolint is not installed (group serve-tests)")
def test_dockerfile():
    lint(BIN / "hadolint", DEPLOY / "Dockerfile")
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert "USER 10001" in text
    assert "--insecure" not in text.split("CMD", 1)[1].splitlines()[-1]


@pytest.mark.skipif(not (BIN / "check-jsonschema").exists(), reason="check-jsonschema is not installed")
def test_compose():
    yaml = pytest.importorskip("yaml")
    lint(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"pagerag", "chat"}
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    variables = services["pagerag"]["environment"]
    from pagerag import Settings

    made = Settings.load(env={**variables})
    assert made.chat.base_url == "http://chat:8080/v1"
    assert made.serve.workers == 2


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_unit(tmp_path):
    """Every directive is known; the binary that it starts is not here, so a stand-in is named."""
    unit = tmp_path / "pagerag.service"
    text = (DEPLOY / "pagerag.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/pagerag/bin/pagerag", shutil.which("true")), encoding="utf-8")
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in ended.stderr.splitlines() if "pagerag.service" in line]
    assert not complaints


def test_the_flags_in_the_files_exist():
    from pagerag.cli import parser

    root = parser("serve")
    command = (
        (DEPLOY / "pagerag.service").read_text(encoding="utf-8").split("ExecStart=", 1)[1].splitlines()[0]
    )
    made = root.parse_args(command.split()[1:])
    assert made.serve_workers == 2
    assert made.stores == ["/var/lib/pagerag/store"]
