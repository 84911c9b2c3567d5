"""The audit tells a clean result from no result."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("audit", Path(__file__).parents[2] / "tools" / "audit.py")
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

FINE = {"name": "numpy", "version": "2", "vulns": []}
BAD = {"name": "old", "version": "1", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "pagerag", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([FINE, UNKNOWN], 0, "1 of 2 packages audited, 0 with"),
        ([FINE, BAD], 1, "old 1: CVE-1, CVE-2"),
        ([UNKNOWN], 0, "not audited"),
    ],
)
def test_report(capsys, packages, code, said):
    assert audit.report(json.dumps({"dependencies": packages}), "") == code
    assert said in capsys.readouterr().out


def test_no_reply_is_no_audit(capsys):
    assert audit.report("", "ConnectionError: no route") == 0
    assert capsys.readouterr().out == "not audited: ConnectionError: no route\n"
