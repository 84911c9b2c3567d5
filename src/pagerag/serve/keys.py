"""API keys: several at once for rotation, compared in constant time, read again when their file changes."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import ipaddress
import time
from pathlib import Path

from pagerag.errors import SettingsError

SHORTEST = 16  # characters of a key
_LOOK_AGAIN = 2.0  # seconds between looks at the file of keys


class Keys:
    """The keys that open the server. Without a file every request is allowed."""

    def __init__(self, file: str = "") -> None:
        self._file = Path(file).expanduser() if file else None
        self._stamp: tuple[int, int] | None = None
        self._looked = 0.0
        self._digests = self._read(self._file) if self._file is not None else ()

    def __bool__(self) -> bool:
        return self._file is not None

    def allows(self, header: str | None) -> bool:
        """Return whether a header carries one of the keys: as Bearer, as Basic's password, or bare."""
        if self._file is None:
            return True
        self._refresh(self._file)
        offered = [
            hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest() for key in _offered(header or "")
        ]
        # every key is compared, whichever fits
        return sum(hmac.compare_digest(digest, key) for digest in self._digests for key in offered) > 0

    def _refresh(self, file: Path) -> None:
        """Read the file again where it changed; a file that is broken leaves the keys as they are."""
        now = time.monotonic()
        if now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        with contextlib.suppress(OSError, SettingsError):
            status = file.stat()
            if (status.st_mtime_ns, status.st_size) != self._stamp:
                self._digests = self._read(file)

    def _read(self, file: Path) -> tuple[bytes, ...]:
        try:
            status = file.stat()
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingsError(f"cannot read the key file {file}: {problem}") from problem
        keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not keys:
            raise SettingsError(f"the key file {file} holds no key; write one a line (openssl rand -hex 24)")
        if any(len(key) < SHORTEST for key in keys):
            raise SettingsError(
                f"a key in {file} is shorter than {SHORTEST} characters; make one with: openssl rand -hex 24"
            )
        self._stamp = (status.st_mtime_ns, status.st_size)
        return tuple(hashlib.sha256(key.encode()).digest() for key in keys)


def _offered(header: str) -> list[str]:
    """Return what the header may mean by a key."""
    value = header.strip()
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return [rest.strip()]
    if scheme.lower() != "basic":
        return [value] if value else []
    try:
        return [base64.b64decode(rest.strip(), validate=True).decode("utf-8").partition(":")[2]]
    except (binascii.Error, UnicodeDecodeError):
        return []


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, keys: Keys, *, insecure: bool) -> None:
    """Refuse to listen on a public address without keys, unless that is asked for."""
    if not keys and not insecure and not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached by others, and there are no keys: give --api-key-file FILE, "
            "listen on 127.0.0.1, or say --insecure if something in front of the server checks who calls"
        )
