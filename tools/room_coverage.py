"""Print how much of each room tests run, as a Markdown table; ``make coverage`` measures, then calls this."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import coverage

PRODUCT = Path(__file__).parents[1] / "src" / "pagerag"


def table() -> str:
    """Return statements and the share that was run, per room, with the sum; and the least covered modules."""
    measured = coverage.Coverage(config_file=str(Path(__file__).with_name("coverage.ini")))
    measured.load()
    there: Counter[str] = Counter()
    run: Counter[str] = Counter()
    modules: list[tuple[float, str]] = []
    for file in sorted(PRODUCT.rglob("*.py")):
        _, statements, _, missing, _ = measured.analysis2(str(file))
        parts = file.relative_to(PRODUCT).parts
        for room in (f"`{parts[0]}/`" if len(parts) > 1 else "`*.py`", "**the product**"):
            there[room] += len(statements)
            run[room] += len(statements) - len(missing)
        if statements:
            modules.append((1 - len(missing) / len(statements), "/".join(parts)))
    rows = [f"| {room} | {count:,} | {run[room] / count:.1%} |" for room, count in sorted(there.items())]
    least = ", ".join(f"`{name}` {share:.0%}" for share, name in sorted(modules)[:8])
    return "\n".join(
        ["| room | statements | run by tests |", "|---|---:|---:|", *rows, "", f"Least: {least}."]
    )


if __name__ == "__main__":
    print(table())
