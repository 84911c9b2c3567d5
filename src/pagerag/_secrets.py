"""Secrets: values that never print, and messages from which they are removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit, urlunsplit

STARS = "***"
"""What is printed in place of a secret."""

_SHORTEST = 4
"""Shorter texts are not removed from messages: they stand in ordinary words too."""


class Secret:
    """Hold a value that is used but never shown: not by print, repr, f-strings, JSON or tracebacks."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself, for the one place that sends it."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"'{STARS}'" if self._value else "''"

    def __str__(self) -> str:
        return STARS if self._value else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Return ``text`` with every secret replaced by stars, as it is, as JSON and as a URL would spell it."""
    spellings: set[str] = set()
    for secret in secrets:
        value = secret.reveal()
        if len(value) >= _SHORTEST:
            escaped = json.dumps(value)[1:-1]
            spellings |= {value, escaped, escaped.replace("/", "\\/"), quote(value), quote(value, safe="")}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, STARS)
    return text


_BETWEEN = re.compile(r"(?<=[^\s,])[\s,]++(?=[A-Za-z][A-Za-z0-9+.\-]*://)")


def shown_url(url: str) -> str:
    """Return an address that may be printed: user name, password and query are replaced by stars.

    Several addresses in one text, with blanks or commas between them, are shown each.
    """
    several = _BETWEEN.split(url)
    if len(several) > 1:
        return ",".join(map(shown_url, several))
    try:
        parts = urlsplit(url)
    except ValueError:
        return STARS
    _, at, host = parts.netloc.rpartition("@")
    netloc = f"{STARS}@{host}" if at else host
    query = STARS if parts.query else ""
    if not parts.netloc and "@" in parts.path:  # user:password@host without a scheme
        return f"{STARS}@{parts.path.rpartition('@')[2]}"
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def url_secrets(url: str) -> tuple[Secret, ...]:
    """Return what an address holds that must not be printed: its user name and password, each spelling."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    held = parts.netloc.rpartition("@")[0]
    user, _, password = held.partition(":")
    found = {held, password or user, unquote(password or user)}
    return tuple(Secret(value) for value in sorted(found) if value)
