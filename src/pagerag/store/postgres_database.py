"""One PostgreSQL database: its address, its connections, transactions that survive a failover, its errors.

Connections are pooled here and not by psycopg_pool: a wrong password or a missing host is then told at once,
with libpq's own words, and after a failover the next caller connects to whoever answers, without waiting for
a worker's next attempt.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag._secrets import Secret, redact, shown_url, url_secrets
from pagerag.errors import InputError, PageRAGError, StoreError, StoreMismatchError
from pagerag.store.postgres_schema import check_name
from pagerag.store.problems import AGAIN, SAFE, damaged

T = TypeVar("T")

READ_SECONDS, WRITE_SECONDS = 30, 600
"""The longest that one statement may take; ``?timeout=`` sets the first."""
CONNECTIONS = 8
_READ_PATIENCE, _WRITE_PATIENCE = 10.0, 60.0  # seconds to wait for an answer after a connection broke
_LOCK_SECONDS = 120  # to wait for the writers before
_OLDEST_VECTOR = (0, 8)  # pgvector's first version with halfvec and scans that go on until they have enough

# How libpq and the server say that it is worth while to try again, here or on the next host.
_PASSING = re.compile(
    "connection refused|connection reset|server closed the connection|terminating connection|starting up|"
    "shutting down|recovery mode|not yet accepting connections|session is (not )?read-only|timeout expired|"
    "timed out|could not (receive|send) data|connection is (lost|closed)|consuming input failed|broken pipe|"
    "ssl syscall error|network is unreachable|no route to host|read-only transaction",
    re.IGNORECASE,
)


class Half:
    """A float16 vector on its way to the server."""

    __slots__ = ("data",)

    def __init__(self, row: NDArray[np.floating[Any]]) -> None:
        self.data = np.array([len(row), 0], dtype=">u2").tobytes() + row.astype(">f2").tobytes()


def from_half(data: bytes) -> NDArray[np.float32]:
    """Return the vector that ``halfvec_send`` gave."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float32)


class Address:
    """Where a database is: libpq's URL, and what of it is ours.

    ``schema`` names the corpus within the database, ``pool`` the most connections for reading, ``timeout``
    the longest statement when reading, in seconds. ``target_session_attrs`` says where to read
    (``prefer-standby``: from a replica); writes go to the primary in any case.
    """

    def __init__(self, url: str) -> None:
        conninfo = need("psycopg.conninfo", "psycopg", "postgres", "for a store in PostgreSQL")
        self.secrets = _secrets_of(url)
        try:
            parts = urlsplit(url)
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
            own = {name: value for name, value in pairs if name in ("schema", "pool", "timeout")}
            rest = urlencode([pair for pair in pairs if pair[0] not in own], quote_via=quote)
            self.words: dict[str, Any] = conninfo.conninfo_to_dict(urlunsplit(parts._replace(query=rest)))
            self.pool = int(own.get("pool", CONNECTIONS))
            self.timeout = float(own.get("timeout", READ_SECONDS))
        except (ValueError, need("psycopg", "psycopg", "postgres").Error) as problem:
            said = " ".join(redact(str(problem), self.secrets).split())
            raise InputError(
                f"{shown_url(url)} is no usable address of a store ({said}); "
                "write postgresql://USER@HOST/DATABASE"
            ) from None
        if self.pool < 1 or self.timeout <= 0:
            raise InputError(f"pool and timeout of {shown_url(url)} must be above 0")
        self.schema = check_name(own.get("schema", "pagerag"))
        host, port = str(self.words.get("host", "")), str(self.words.get("port", ""))
        ports = port.split(",") if "," in port else [port] * (host.count(",") + 1)
        hosts = ",".join(
            f"{one}:{number}" if number else one for one, number in zip(host.split(","), ports, strict=False)
        )
        named = "" if self.schema == "pagerag" else f"?schema={self.schema}"
        self.shown = f"postgresql://{hosts}/{self.words.get('dbname', '')}{named}"


def _secrets_of(url: str) -> tuple[Secret, ...]:
    """Return what of an address must not be printed, passwords in its query included."""
    try:
        query = dict(parse_qsl(urlsplit(url).query))
    except ValueError:
        return url_secrets(url)
    given = (Secret(value) for name, value in query.items() if "password" in name and value)
    held = urlsplit(url).netloc.rpartition("@")[0]
    return (*(url_secrets(url) if ":" in held else ()), *given)


STATE = "SELECT version, live, length, identity FROM corpus"
"""What a read transaction begins with."""


@dataclass(slots=True)
class Lent:
    """A connection in a read transaction, and the row of ``STATE`` that it began with."""

    database: Database
    connection: Any
    row: Any
    primary: bool

    def run(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` reads; when the server goes away, one that holds the same state is asked."""
        with self.database.told("reading"):
            try:
                return work(self.connection)
            except self.database.psycopg.Error as problem:
                if not self.database.passing(problem):
                    raise
                self.connection.close()
            fresh = self.database.begin()
            if (fresh.row[0], fresh.row[3]) != (self.row[0], self.row[3]):
                fresh.end()
                raise StoreError(
                    f"the server of the store {self.database.shown} went away while it was read, and the "
                    "next one holds another version; ask again"
                )
            self.connection, self.primary = fresh.connection, fresh.primary
            return work(self.connection)

    def end(self) -> None:
        """End the transaction and give the connection back."""
        with suppress(self.database.psycopg.Error):
            self.connection.execute("ROLLBACK")
        self.database._give(self.connection, write=self.primary)


class Database:
    """The connections to one database: some for reading, and some to the primary for writing."""

    def __init__(self, url: str) -> None:
        self.psycopg = need("psycopg", "psycopg", "postgres", "for a store in PostgreSQL")
        self.address = Address(url)
        self.shown = self.address.shown
        self._lock = threading.Lock()
        self._idle: dict[bool, list[Any]] = {False: [], True: []}
        self._free = threading.BoundedSemaphore(self.address.pool)
        self._closed = False
        self._opened = False

    # -- connections

    def _connect(self, *, write: bool) -> Any:
        """Return a new connection; the search path and the time-outs are set."""
        words = {
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "application_name": "pagerag",
            **self.address.words,
            "client_encoding": "utf8",
        }
        if write:
            words["target_session_attrs"] = "read-write"
        connection = self.psycopg.connect(**words, autocommit=True)
        try:
            self._configure(connection, write=write)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: Any, *, write: bool) -> None:
        seconds = WRITE_SECONDS if write else self.address.timeout
        row = connection.execute(
            "SELECT n.nspname, t.oid, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = "
            "e.extnamespace LEFT JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'halfvec' "
            "WHERE e.extname = 'vector'"
        ).fetchone()
        path = self.address.schema
        if row is not None:
            version = tuple(int(part) for part in str(row[2]).split(".")[:2])
            if row[1] is None or version < _OLDEST_VECTOR:
                raise StoreMismatchError(
                    f"{self.shown} has pgvector {row[2]}; 0.8 or newer is needed: ALTER EXTENSION vector "
                    "UPDATE"
                )
            path += f", {self.psycopg.sql.Identifier(row[0]).as_string(connection)}"
            _register_half(self.psycopg, connection, row[1])
        settings = {
            "statement_timeout": f"{round(seconds * 1000)}",
            "lock_timeout": f"{_LOCK_SECONDS}s",
            "idle_in_transaction_session_timeout": "10min",
            "jit": "off",  # compiling a statement takes longer than running ours
            "hnsw.ef_search": "200",
            "hnsw.iterative_scan": "strict_order",
            "hnsw.max_scan_tuples": "40000",
            "search_path": path,
        }
        names = ", ".join("set_config(%s, %s, false)" for _ in settings)
        connection.execute(f"SELECT {names}", [word for pair in settings.items() for word in pair])

    def _take(self, *, write: bool) -> Any:
        """Return an idle connection, or a new one."""
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.shown} was closed")
            if self._idle[write]:
                return self._idle[write].pop()
        return self._connect(write=write)

    def _give(self, connection: Any, *, write: bool) -> None:
        """Keep a connection for the next one who asks, unless something is wrong with it."""
        sound = connection.info.transaction_status == self.psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if sound and not self._closed and len(self._idle[write]) < self.address.pool:
                self._idle[write].append(connection)
                return
        connection.close()

    def renew(self) -> None:
        """Close the idle connections, so that the next ones see types that are new."""
        with self._lock:
            idle = [*self._idle[False], *self._idle[True]]
            self._idle = {False: [], True: []}
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
        self.renew()

    # -- transactions

    @contextmanager
    def pinned(self, *, primary: bool = False) -> Iterator[Lent]:
        """Lend a connection in a read transaction.

        A broken connection is replaced by one to a host that answers.
        """
        if not self._free.acquire(timeout=self.address.timeout):
            raise StoreError(
                f"all {self.address.pool} connections to the store {self.shown} are in use; ask fewer "
                "questions at once, or allow more: ?pool=NUMBER"
            )
        with ExitStack() as stack:
            stack.callback(self._free.release)
            lent = self.begin(primary=primary)
            stack.callback(lent.end)
            yield lent

    def begin(self, *, primary: bool = False) -> Lent:
        """Return a read transaction; the caller ends it."""
        with self.told("reading"):
            connection, row = self._again(lambda: self._begun(write=primary), _READ_PATIENCE)
        return Lent(self, connection, row, primary)

    def _begun(self, *, write: bool) -> tuple[Any, Any]:
        connection = self._take(write=write)
        try:
            with connection.pipeline():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return connection, connection.execute(STATE).fetchone()
        except BaseException:
            connection.close()
            raise

    def look(self, work: Callable[[Any], T]) -> T:
        """Return what ``work`` reads, with a connection of its own for a moment."""
        return self._work("reading", work, write=False)

    def write(self, doing: str, work: Callable[[Any], T], *, atomic: bool = True) -> T:
        """Do ``work`` in a transaction on the primary; it is on disk when this returns.

        When the connection breaks, all of it is done again with the next primary: ``work`` must give the same
        whether or not it was done before. Without ``atomic``, each statement is a transaction of its own.
        """
        return self._work(doing, work, write=True, atomic=atomic)

    def _work(self, doing: str, work: Callable[[Any], T], *, write: bool, atomic: bool = False) -> T:
        def once() -> T:
            connection = self._take(write=write)
            try:
                with connection.transaction() if atomic else nullcontext():
                    return work(connection)
            finally:
                self._give(connection, write=write)

        with self.told(doing):
            return self._again(once, _WRITE_PATIENCE if write else _READ_PATIENCE)

    def _again(self, once: Callable[[], T], patience: float) -> T:
        """Repeat what failed because of a broken connection until it succeeds or ``patience`` has run out."""
        deadline: float | None = None
        pause = 0.05
        while True:
            try:
                done = once()
                self._opened = True
                return done
            except self.psycopg.Error as problem:
                # Who was never reached is not waited for: the address may be wrong.
                deadline = deadline or time.monotonic() + (patience if self._opened else 0.0)
                if not self.passing(problem) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause)
            pause = min(1.0, pause * 2)

    def passing(self, problem: BaseException) -> bool:
        """Return whether an error tells of a connection, not of the statement."""
        state = getattr(problem, "sqlstate", None) or ""
        return state in ("57P01", "57P02", "57P03", "25006") or (
            isinstance(problem, (self.psycopg.OperationalError, self.psycopg.InterfaceError))
            and state[:2] in ("", "08")
            and _PASSING.search(str(problem)) is not None
        )

    # -- errors

    @contextmanager
    def told(self, doing: str) -> Iterator[None]:
        """Turn what PostgreSQL raises inside into a StoreError without secrets; other errors pass."""
        try:
            yield
        except PageRAGError:
            raise
        except self.psycopg.Error as problem:
            raise self._error(doing, problem) from None  # its context may hold the address
        except (ValueError, TypeError, LookupError) as damage:
            raise damaged(self.shown, damage) from damage

    def _error(self, doing: str, problem: Any) -> StoreError:
        errors = self.psycopg.errors
        said = " ".join(redact(str(problem), self.address.secrets).split())[:400]
        foreign = (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn)
        remedies: dict[Any, str] = {
            errors.QueryCanceled: "a statement took longer than its time-out; ask again, or raise it: "
            "?timeout=SECONDS",
            errors.LockNotAvailable: f"other writers did not finish within {_LOCK_SECONDS} s. {SAFE}",
            errors.InsufficientPrivilege: f"this role may not do that ({said}); see the GRANTs in "
            "docs/stores.md",
            foreign: f"it is damaged or not a store ({said}); {AGAIN}",
            errors.DiskFull: f"the server's disk is full: free some space and run it again. {SAFE}",
        }
        remedy = next((advice for kind, advice in remedies.items() if isinstance(problem, kind)), said)
        if remedy is said and self.passing(problem):
            remedy = (
                f"the server cannot be reached or went away ({said}); start it or promote a standby, and try "
                f"again. {SAFE}"
            )
        return StoreError(f"{doing} the store {self.shown} failed: {remedy}")


def _register_half(psycopg: Any, connection: Any, number: int) -> None:
    """Let a connection send ``Half`` as the type that pgvector has under this number."""

    class Dumper(psycopg.adapt.Dumper):  # type: ignore[misc]
        format = psycopg.pq.Format.BINARY
        oid = number

        def dump(self, obj: Half) -> bytes:
            return obj.data

    connection.adapters.register_dumper(Half, Dumper)
