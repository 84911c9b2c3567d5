"""Bytes to text, in whatever encoding they come, and files that are one text to documents."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from importlib import import_module

from pagerag.ingest.builder import TextBuilder
from pagerag.ingest.documents import Document, IngestSettings, SourceFile

_MARKS = (  # the longer ones first: UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 2**16
# What files are really in, the commonest first.
_LIKELY = tuple(
    "cp1252 cp1251 gb18030 cp932 big5 euc_kr cp1250 iso8859_2 euc_jp koi8_r cp1253 cp1254 cp1255 cp1256 "
    "cp1257 cp1258 cp874 iso2022_jp mac_roman".split()
)


def decode(file: SourceFile, data: bytes) -> str:
    """Return bytes as text; binary data is refused."""
    encoding = encoding_of(file, data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as broken:
        raise file.bad(f"is not valid {encoding} text ({broken.reason} at byte {broken.start:,})") from broken


def read_marked_up(
    file: SourceFile,
    settings: IngestSettings,
    add: Callable[[str, TextBuilder], str | None],
    decoded: Callable[[SourceFile, bytes], str] = decode,
) -> Iterator[Document]:
    """Read a file that is one text; ``add`` gives its blocks to a builder and returns its title."""
    source = decoded(file, file.read(settings.max_file_bytes))
    builder = TextBuilder(source, limit=settings.max_text_chars, name=file.name)
    yield builder.document(add(source, builder), file.stem)


def encoding_of(file: SourceFile, data: bytes, *, more: bool = False) -> str:
    """Return the encoding of a text, of which ``data`` is the beginning when there is ``more``.

    A mark at the start decides; then UTF-8, which other encodings hardly ever look like; then a guess.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    if b"\0" in data[:_SAMPLE]:
        raise file.bad("looks like a binary file, not text; convert it or leave it out")
    try:
        # A sample may end inside a character, which a final=False decoder forgives.
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not more)
        return "utf-8"
    except UnicodeDecodeError:
        return _guess(file, data[:_SAMPLE])


def _guess(file: SourceFile, sample: bytes) -> str:
    try:
        detector = import_module("charset_normalizer")
    except ModuleNotFoundError as missing:
        raise file.bad(
            "is not UTF-8, and charset-normalizer, which guesses other encodings, is not installed; "
            "pip install 'pagerag[encodings]', or convert the file to UTF-8"
        ) from missing
    matches = list(detector.from_bytes(sample, cp_isolation=list(_LIKELY)))
    if not matches:
        raise file.bad("is in no encoding that could be recognised; convert it to UTF-8")
    # Short texts fit several encodings about as well; then the commoner one is meant.
    near = min(match.chaos for match in matches) + 0.05
    fitting = {name for match in matches if match.chaos <= near for name in match.could_be_from_charset}
    return next((name for name in _LIKELY if name in fitting), str(matches[0].encoding))
