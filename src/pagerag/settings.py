"""One typed settings model: defaults < user file < project file < environment < flags.

Files are TOML: the user's own (``~/.config/pagerag/config.toml`` on Linux), then ``./pagerag.toml``, or the
one file that ``PAGERAG_CONFIG`` or ``--config`` names. A setting ``chat.base_url`` is ``base_url`` of the
table ``[chat]``, and ``PAGERAG_CHAT_BASE_URL`` in the environment. Unknown names and impossible values are
errors, with the nearest known name. Secrets never print.

``./pagerag.toml`` may come from a stranger. Settings that decide where questions, documents or keys are sent,
or which files are opened or written for it, are ignored there until the user has trusted that very file:
``pagerag config --trust``.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypedDict

from pagerag._convert import convert
from pagerag._secrets import STARS, Secret, shown_url
from pagerag._user import config_file, is_trusted
from pagerag.errors import SettingsError
from pagerag.units import SUPPORT_CHOICES

__all__ = [
    "ChatOptions",
    "ChatSettings",
    "GgufSettings",
    "PromoteSettings",
    "ReadSettings",
    "RetrieveSettings",
    "Secret",
    "ServeSettings",
    "Settings",
    "StoreSettings",
]

PREFIX = "PAGERAG_"
_NOTHING: Mapping[str, Any] = {}
_NO_SECRET = Secret()


def _doc(text: str, default: Any, **rules: Any) -> Any:
    """Return a field with its one-line explanation and its rules.

    ``least`` and ``most`` are bounds, ``one_of`` names the values, ``filled`` texts may not be empty;
    ``guarded`` settings count in a project file only when the user trusts it.
    """
    metadata = {"doc": text, **rules}
    if isinstance(default, Secret | Mapping):
        return field(default_factory=lambda: copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


_guarded = partial(_doc, guarded=True)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the corpus lives."""

    path: str = _doc("folder or address of the store", "pagerag-store", filled=True)
    encoder: str = _guarded("encoder of a new store; for an existing one, only to confirm what it names", "")


@dataclass(frozen=True, slots=True)
class RetrieveSettings:
    """From question to pool."""

    retriever: str = _doc(
        "which retriever makes the first pool", "hybrid", one_of=("hybrid", "dense", "lexical")
    )
    pool: int = _doc("units in the pool", 20, least=1, most=1000)
    adaptive: bool = _doc("follow-up retrieval by the names that the first pool mentions", True)


@dataclass(frozen=True, slots=True)
class PromoteSettings:
    """From pool to context."""

    k: int = _doc("units the reader may see", 5, least=1, most=1000)
    mode: str = _doc(
        "what a unit is; auto: a passage, judged by its sentences (document)",
        "auto",
        one_of=("auto", "sentence", "paragraph", "document"),
    )
    strategy: str = _doc("auto: the mode's default", "auto", one_of=("auto", "learned", "formula"))
    support: str = _doc(
        "support encoder that joins promotion; small: ours; auto: the same, where pagerag-models is "
        "installed; default: the larger one of pagerag-judge, where that is installed, in search too",
        "auto",
        one_of=SUPPORT_CHOICES,
    )
    max_tokens: int = _doc("token budget of the context; 0: none", 0, least=0)
    weights: str = _guarded("a weights file of your own", "")


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """From context to answer."""

    reader: str = _doc("evidence, extractive, smollm2, gguf, chat; auto: the best installed", "auto")
    units: str = _doc(
        "give the reader the core, the filled context, or what it reads best (auto)",
        "auto",
        one_of=("auto", "core", "context"),
    )
    least_confidence: float = _doc(
        "confidence below which the extractive reader abstains; -1: as it was fitted",
        -1.0,
        least=-1.0,
        most=1.0,
    )


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Any OpenAI-compatible chat endpoint."""

    base_url: str = _guarded("address up to and including /v1", "")
    model: str = _doc("model name as the endpoint spells it", "")
    api_key: Secret = _guarded("key; better given as PAGERAG_CHAT_API_KEY", _NO_SECRET)  # noqa: RUF009
    api_key_env: str = _guarded("read the key from this variable instead", "")
    auth_header: str = _guarded("header that carries the key", "Authorization")
    temperature: float = _doc("sampling temperature", 0.0, least=0.0, most=2.0)
    max_tokens: int = _doc("longest reply", 256, least=1)
    token_field: str = _doc(
        "how the endpoint calls that bound", "max_tokens", one_of=("max_tokens", "max_completion_tokens")
    )
    seed: int = _doc("sampling seed; -1: do not send one", -1, least=-1)
    extra: Mapping[str, Any] = _guarded("more request fields (a table; JSON in the environment)", _NOTHING)
    connect_timeout: float = _doc("seconds to connect", 10.0, least=0.01)
    read_timeout: float = _doc("seconds of silence from the server", 60.0, least=0.01)
    write_timeout: float = _doc("seconds to send the request", 10.0, least=0.01)
    deadline: float = _doc("seconds for one question, retries and waits included", 120.0, least=0.01)
    attempts: int = _doc("tries per question", 6, least=1, most=100)
    concurrency: int = _doc("requests in flight", 8, least=1, most=1000)
    cache: str = _guarded("file of the response cache; empty: none", "")
    price_in: float = _doc("price of a million prompt tokens", 0.0, least=0.0)
    price_out: float = _doc("price of a million reply tokens", 0.0, least=0.0)

    def __repr__(self) -> str:
        told = ", ".join(f"{item.name}={shown(getattr(self, item.name))!r}" for item in fields(self))
        return f"ChatSettings({told})"

    def key(self, env: Mapping[str, str] | None = None) -> Secret:
        """Return the key in force: ``api_key``, or the variable that ``api_key_env`` names."""
        if self.api_key or not self.api_key_env:
            return self.api_key
        value = (os.environ if env is None else env).get(self.api_key_env, "")
        if not value:
            raise SettingsError(
                f"chat.api_key_env names the variable {self.api_key_env}, which is not set; "
                f"export {self.api_key_env}=... or clear the setting"
            )
        return Secret(value)


class ChatOptions(TypedDict, total=False):
    """The fields of ChatSettings as keyword arguments, for constructors that take them."""

    base_url: str
    model: str
    api_key: Secret | str
    api_key_env: str
    auth_header: str
    temperature: float
    max_tokens: int
    token_field: str
    seed: int
    extra: Mapping[str, Any]
    connect_timeout: float
    read_timeout: float
    write_timeout: float
    deadline: float
    attempts: int
    concurrency: int
    cache: str
    price_in: float
    price_out: float


@dataclass(frozen=True, slots=True)
class GgufSettings:
    """A local gguf model."""

    path: str = _guarded("the model file of the reader gguf", "")
    context: int = _doc("tokens the model may see", 4096, least=256)
    max_tokens: int = _doc("longest reply", 48, least=1)
    threads: int = _doc("threads; 0: as many as are free", 0, least=0)
    small: bool = _doc("use the short prompt for very small models", True)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What ``pagerag serve`` and ``pagerag mcp --http`` listen to, and what they allow."""

    host: str = _guarded("address to listen on; another than loopback needs keys", "127.0.0.1")
    port: int = _doc("port to listen on; 0: any free one", 8484, least=0, most=65535)
    workers: int = _doc("processes", 1, least=1, most=256)
    stores: Mapping[str, Any] = _guarded("stores by name (a table); none: store.path alone", _NOTHING)
    api_key_file: str = _guarded("file with one key a line; read again when it changes", "")
    insecure: bool = _guarded("listen on a public address without keys", False)
    hosts: str = _guarded("names the server is reached by, comma-separated; *: any", "")
    origins: str = _guarded("web pages of other origins that may call it, comma-separated", "")
    max_body_mb: float = _doc("largest request body, in MiB", 8.0, least=0.001, most=1024)
    max_upload_mb: float = _doc("largest uploaded file, in MiB", 64.0, least=0.001, most=65536)
    max_candidates: int = _doc("most candidates or documents in a request", 1000, least=1, most=100_000)
    max_characters: int = _doc("most characters of text in a request", 4_000_000, least=1)
    timeout: float = _doc("seconds for one promotion or rerank request", 30.0, least=0.01)
    ask_timeout: float = _doc("seconds for one question to a store", 120.0, least=0.01)
    body_timeout: float = _doc("seconds in which a client must have sent its request", 20.0, least=0.01)
    in_flight: int = _doc("promotions at once, waiting ones included; more are told 429", 64, least=1)
    threads: int = _doc("threads that promote; 0: one for each processor, at most 4", 0, least=0, most=256)
    asks: int = _doc("questions to stores at once; more are told 429", 8, least=1, most=1000)
    drain: float = _doc(
        "seconds that requests under way get when the server is told to stop", 30.0, least=0.0
    )
    uploads: bool = _doc("files may be uploaded into the stores", True)
    log_level: str = _doc("what is logged", "info", one_of=("debug", "info", "warning", "error"))
    log_text: bool = _guarded("log questions and document texts, too", False)
    telemetry: bool = _guarded("send OpenTelemetry spans, where the OTEL_ variables say", False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings and where each came from. ``Settings()`` holds the defaults; ``load`` reads the rest.

    ``remarks`` say what of a project file was ignored because it is not trusted, and what a trusted one
    changed.
    """

    store: StoreSettings = field(default_factory=StoreSettings)
    retrieve: RetrieveSettings = field(default_factory=RetrieveSettings)
    promote: PromoteSettings = field(default_factory=PromoteSettings)
    read: ReadSettings = field(default_factory=ReadSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    gguf: GgufSettings = field(default_factory=GgufSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    remarks: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> Settings:
        """Read files, environment and ``flags`` (dotted names; None means not given), later ones winning.

        ``file`` is read in place of the user's and the project's. ``env`` stands for the environment; the
        user's file is not read with it, since it belongs to the real one.
        """
        environment = os.environ if env is None else env
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        remarks: list[str] = []
        for path, project in _files(file, environment, user=env is None):
            content = _content(path)
            found = _from_file(path, content)
            if project:
                remarks += _guard(path, content, found)
            values |= found
            origins |= dict.fromkeys(found, str(path))
        for name, (variable, value) in _from_environment(environment).items():
            values[name], origins[name] = value, f"${variable}"
        given = {name: value for name, value in (flags or {}).items() if value is not None}
        made = cls().updated(values | given, origins | dict.fromkeys(given, "flag"))
        return replace(made, remarks=tuple(remarks))

    def updated(self, values: Mapping[str, Any], origins: Mapping[str, str] | None = None) -> Settings:
        """Return a copy with some settings changed; names are dotted (``promote.k``)."""
        origins = origins or {}
        sections: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            section, _, key = name.partition(".")
            made = convert(name, value, _field(name), origins.get(name, ""))
            sections.setdefault(section, {})[key] = made
        changed = {section: replace(getattr(self, section), **held) for section, held in sections.items()}
        return replace(self, **changed, origins={**self.origins, **origins})

    @classmethod
    def fields(cls) -> Iterator[tuple[str, Any]]:
        """Yield every setting's dotted name with its dataclass field, in order."""
        for section in fields(cls):
            if section.name not in ("origins", "remarks"):
                for item in fields(section.default_factory):  # type: ignore[arg-type]
                    yield f"{section.name}.{item.name}", item

    def get(self, name: str) -> Any:
        """Return the value of a dotted name."""
        _field(name)
        return attrgetter(name)(self)

    def origin(self, name: str) -> str:
        """Return where the value of a dotted name comes from: ``default``, a file, a variable or ``flag``."""
        self.get(name)
        return self.origins.get(name, "default")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return a JSON-able copy in which secrets are stars."""
        tables: dict[str, dict[str, Any]] = {}
        for name in _FIELDS:
            section, _, key = name.partition(".")
            tables.setdefault(section, {})[key] = shown(self.get(name))
        return tables


def shown(value: Any) -> Any:
    """Return a setting's value as it may be printed.

    Secrets are stars; so are passwords in addresses, and texts inside tables, where request fields such as
    ``chat.extra`` may carry a key.
    """
    if isinstance(value, Mapping):
        return _starred(value)
    if isinstance(value, str) and "://" in value:
        return shown_url(value)
    return str(value) if isinstance(value, Secret) else value


def _starred(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _starred(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_starred(item) for item in value]
    return STARS if isinstance(value, str) else value


def variable(name: str) -> str:
    """Return the environment variable of a dotted name: ``chat.base_url`` is PAGERAG_CHAT_BASE_URL."""
    return PREFIX + name.upper().replace(".", "_")


PROJECT_FILE = Path("pagerag.toml")
"""The settings file of the current folder."""

_LARGEST_FILE = 1 << 20


def guarded() -> list[str]:
    """Return the names of the settings that a project file may only set when the user trusts it."""
    return [name for name, item in _FIELDS.items() if item.metadata.get("guarded")]


def project_settings() -> tuple[bytes, dict[str, Any]]:
    """Return the content of ``./pagerag.toml`` and the guarded settings in it, trusted or not."""
    if not PROJECT_FILE.is_file():
        raise SettingsError(f"there is no {PROJECT_FILE} in this folder")
    content = _content(PROJECT_FILE)
    found = _from_file(PROJECT_FILE, content)
    return content, {name: found[name] for name in _guarded_in(found)}


def _guarded_in(found: Mapping[str, Any]) -> list[str]:
    names = [name for name in guarded() if name in found]
    # documents, questions and keys would go to that address
    return [*names, "store.path"] if "://" in str(found.get("store.path", "")) else names


def _guard(path: Path, content: bytes, found: dict[str, Any]) -> list[str]:
    """Take the guarded settings out of ``found`` unless the file is trusted; say what was done."""
    names = _guarded_in(found)
    if not names:
        return []
    if is_trusted(path, content):
        return [f"{path}, which you trust, sets {', '.join(names)}"]
    for name in names:
        del found[name]
    return [
        f"{path} is not trusted, so what it sets for {', '.join(names)} is ignored; "
        "look at the file, then, if you want that: pagerag config --trust"
    ]


def _files(
    file: str | os.PathLike[str] | None, env: Mapping[str, str], *, user: bool
) -> list[tuple[Path, bool]]:
    """Return the files to read, each with whether it is the project's."""
    if named := file or env.get(f"{PREFIX}CONFIG"):
        path = Path(named).expanduser()
        if not path.is_file():
            raise SettingsError(f"there is no settings file {path}")
        return [(path, False)]
    places = ((config_file() if user else None, False), (PROJECT_FILE, True))
    return [(path, project) for path, project in places if path is not None and path.is_file()]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as problem:
        raise SettingsError(f"{path}: {problem.strerror or problem}") from problem
    if len(content) > _LARGEST_FILE:
        raise SettingsError(f"{path} is larger than {_LARGEST_FILE:,} bytes; this is no settings file")
    return content


def _from_file(path: Path, content: bytes) -> dict[str, Any]:
    try:
        tables = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as problem:
        raise SettingsError(f"{path}: {problem}") from problem
    values: dict[str, Any] = {}
    for section, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingsError(f"{path}: {section} must be a table, such as [chat]")
        for key, value in table.items():
            _field(f"{section}.{key}", f"{path}: ")
            values[f"{section}.{key}"] = value
    return values


def _from_environment(env: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    known = {variable(name): name for name in _FIELDS}
    sections = tuple(f"{PREFIX}{section.name.upper()}_" for section in fields(Settings))
    found = {}
    for name, value in env.items():
        if name in known:
            found[known[name]] = (name, value)
        elif name.startswith(sections):
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SettingsError(f"the environment variable {name} is no setting{hint}")
    return found


_FIELDS = dict(Settings.fields())


def _field(name: str, where: str = "") -> Any:
    """Return the field of a dotted name; for an unknown one the error has the nearest."""
    if name not in _FIELDS:
        near = difflib.get_close_matches(name, _FIELDS, 1)
        hint = f"did you mean {near[0]}?" if near else "'pagerag config' lists them"
        raise SettingsError(f"{where}there is no setting {name!r}; {hint}")
    return _FIELDS[name]
