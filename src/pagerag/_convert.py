"""Turn the values of settings files, variables and flags into the types that settings have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pagerag._secrets import Secret
from pagerag.errors import SettingsError


def convert(name: str, value: Any, item: Any, place: str) -> Any:
    """Return ``value`` in the type of the setting ``name``, within its bounds.

    ``item`` is the setting's dataclass field, ``place`` says where the value comes from, for the message.
    """
    where = f" (from {place})" if place else ""
    parse, kind = _KINDS[str(item.type)]
    try:
        result = parse(value)
    except (ValueError, TypeError, RecursionError) as problem:
        said = "a secret" if parse is _secret else repr(value)
        raise SettingsError(f"{name} must be {kind}, not {said}{where}") from problem
    rules = item.metadata
    if rules.get("filled") and not str(result).strip():
        raise SettingsError(f"{name} is empty{where}; give it a value (is a shell variable unset?)")
    if "one_of" in rules and result not in rules["one_of"]:
        raise SettingsError(f"{name} must be one of {', '.join(rules['one_of'])}, not {value!r}{where}")
    if "least" in rules and result < rules["least"]:
        raise SettingsError(f"{name} must be at least {rules['least']}, not {value!r}{where}")
    if "most" in rules and result > rules["most"]:
        raise SettingsError(f"{name} must be at most {rules['most']}, not {value!r}{where}")
    return result


def _text(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise TypeError
    return str(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    result = float(value)
    if not math.isfinite(result):
        raise ValueError
    return result


def _switch(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise ValueError
    return word in {"1", "true", "yes", "on"}


def _table(value: Any) -> Mapping[str, Any]:
    result = json.loads(value) if isinstance(value, str) else value
    if not isinstance(result, Mapping):
        raise TypeError
    return dict(result)


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_text(value))


_KINDS: Mapping[str, tuple[Any, str]] = {  # a type as it is written → its parser, its name for people
    "str": (_text, "text"),
    "int": (_whole, "a whole number"),
    "float": (_number, "a number"),
    "bool": (_switch, "true or false"),
    "Secret": (_secret, "text"),
    "Mapping[str, Any]": (_table, "a table (JSON object)"),
}
