"""Write the table of all settings into docs/settings.md:  python docs/make_settings_table.py"""

from __future__ import annotations

import json
from pathlib import Path

from pagerag._files import write_atomic
from pagerag.settings import Secret, Settings, variable

NOTHING = '""'
MARK = "<!-- settings table: checked by tests/docs -->"


def main() -> None:
    """Replace everything after the mark."""
    rows = ["| setting | variable | default | what |", "|---|---|---|---|"]
    for name, item in Settings.fields():
        default = Settings().get(name)
        shown = "" if isinstance(default, Secret) else json.dumps(default)
        choices = f" ({', '.join(item.metadata['one_of'])})" if "one_of" in item.metadata else ""
        rows.append(
            f"| `{name}` | `{variable(name)}` | `{shown or NOTHING}` | {item.metadata['doc']}{choices} |"
        )
    page = Path(__file__).parent / "settings.md"
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    write_atomic(page, head + MARK + "\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
