"""Every error that pagerag raises on purpose.

::

    PageRAGError                    catch this one to catch them all
    ├── InputError (ValueError)     what the caller passed in cannot be used
    │   ├── EmptyPoolError          there are no candidates
    │   ├── CandidateError          one candidate is unusable; it is named
    │   └── WeightsError            a weights file or a learned model is unusable
    ├── FormatError (ValueError)    a file is not what it should be: file, line, field, remedy
    ├── MissingExtraError (ImportError)   an optional package is not installed; the extra is named
    ├── StoreError                  a store cannot be opened, read or written
    │   └── StoreMismatchError      the store was made with another encoder or schema
    ├── EndpointError               a model endpoint refused, broke, or sent what cannot be used
    │   └── EndpointTimeoutError    ... or did not answer within its deadline
    ├── ReaderError                 a reader gave no usable answer
    │   ├── ReaderTimeoutError      ... within its deadline, for whatever reason
    │   └── ReaderEndpointError     ... because its endpoint failed (this is an EndpointError, too)
    ├── WorkerLostError             processes or machines that were to do the work are gone or not reached
    ├── BackendError                another RAG system did not behave as its adapter expects
    └── SettingsError (ValueError)  a setting is unknown or has an impossible value

An encoder's endpoint raises EndpointError and EndpointTimeoutError; a reader's raises the two ReaderErrors,
so that ``except ReaderError`` means the reader whatever it runs on.

A message says what is wrong, which item it is, and what to do about it.
"""


class PageRAGError(Exception):
    """The root of the tree."""


class InputError(PageRAGError, ValueError):
    """An argument cannot be used as it is."""


class EmptyPoolError(InputError):
    """Promotion was asked of a pool that holds no candidate."""


class CandidateError(InputError):
    """One candidate is unusable; ``item`` names it (its id, or its place in the pool)."""

    def __init__(self, message: str, *, item: str | int | None = None) -> None:
        super().__init__(message)
        self.item = item


class WeightsError(InputError):
    """A weights file or a learned model is missing fields, has unknown ones, or has bad values."""


class FormatError(PageRAGError, ValueError):
    """A file is not in the format it should be in; the message and, for tools, attributes name its place."""

    def __init__(
        self, message: str, *, file: object = None, line: int | None = None, field: str | None = None
    ) -> None:
        told = ((str(file), file), (f"line {line}", line), (f"field {field!r}", field))
        place = ", ".join(part for part, value in told if value is not None and part)
        super().__init__(f"{place}: {message}" if place else message)
        self.file, self.line, self.field = file, line, field


class MissingExtraError(PageRAGError, ImportError):
    """An optional package is needed here and is not installed."""

    def __init__(self, package: str, extra: str, purpose: str = "") -> None:
        why = f" ({purpose})" if purpose else ""
        verb, them = ("are", "them") if " and " in package else ("is", "it")
        remedy = f"Install {them} with: pip install 'pagerag[{extra}]'"
        super().__init__(f"{package} {verb} not installed{why}. {remedy}")
        self.package, self.extra = package, extra


class StoreError(PageRAGError):
    """A store cannot be opened, read or written."""


class StoreMismatchError(StoreError):
    """A store was made with another encoder, dimension or schema version than the one in use."""


class EndpointError(PageRAGError):
    """A model endpoint refused (``status`` has its HTTP status), broke, or sent what cannot be used."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EndpointTimeoutError(EndpointError):
    """A model endpoint did not answer within its deadline, retries and waits included."""


class ReaderError(PageRAGError):
    """A reader gave no usable answer."""


class ReaderTimeoutError(ReaderError):
    """A reader did not answer within its deadline for one question, prompt, retries and waits included."""


class ReaderEndpointError(ReaderError, EndpointError):
    """A reader gave no answer because the endpoint behind it failed."""


class WorkerLostError(PageRAGError):
    """Processes or machines that were to do the work died, or cannot be reached; finished work is kept."""


class BackendError(PageRAGError):
    """Another RAG system did not behave as its adapter expects."""


class SettingsError(PageRAGError, ValueError):
    """A setting is unknown or has an impossible value."""
