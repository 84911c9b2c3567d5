"""Tags and entities of HTML with their places in the file, in time linear in its length.

Libraries that parse HTML do not say where a text stands in the file, which citations need, and
``html.parser`` takes quadratic time on some files in the Python versions that are in use.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from pagerag.ingest.builder import Piece

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
"""Elements whose content holds no tags."""

BLOCKS = frozenset(
    """address article blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre
    section summary table tbody td tfoot th thead tr ul aside""".split()
)
_INLINE = frozenset(
    """a abbr acronym audio b bdi bdo big button canvas cite code data datalist del dfn em font i iframe ins
    kbd label map mark math meter noscript object output picture progress q rp rt ruby s samp script select
    slot small span strike strong style sub sup svg template textarea time tt u var video head
    title""".split()
)
KNOWN = BLOCKS | _INLINE | VOID
"""Names of elements that browsers know."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

_LOOSE_ENTITY = re.compile(f"{ENTITY.pattern}?")  # browsers forgive a missing semicolon
_NAME = re.compile(r"/?[A-Za-z][^\s/>\"'<=]{0,63}")
_ATTRIBUTE = re.compile(r"([^\s=/>\"']+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_INVISIBLE = re.compile(
    r"(?:display\s{0,8}:\s{0,8}none|visibility\s{0,8}:\s{0,8}hidden)(?![\w-])", re.IGNORECASE
)
_QUOTE = re.compile(r"[\"']")
_LONGEST_TAG = 100_000


class Tag(NamedTuple):
    """A piece of markup: ``text`` between tags, a ``start`` or ``end`` tag with its name, or ``other``."""

    kind: Literal["text", "start", "end", "other"]
    name: str
    start: int
    end: int
    empty: bool = False


def tokens(source: str) -> Iterator[Tag]:
    """Yield the tags of a page and the text between them, in order.

    Whatever never ends (a comment, a quotation mark, a tag) is looked for once: the last place of each
    closing mark is known beforehand.
    """
    last = {mark: source.rfind(mark) for mark in (">", '"', "'", "-->", "?>", "]]>")}
    lowered = ""
    at, size = 0, len(source)
    while at < size:
        begin = source.find("<", at)
        if begin < 0:
            begin = size
        if begin > at:
            yield Tag("text", "", at, begin)
        if begin == size:
            return
        token = markup_at(source, begin, last)
        yield token
        at = token.end
        if token.kind == "start" and token.name in RAW and not token.empty:
            lowered = lowered or source.lower()
            # A few letters change their number when they change their case; such a page is taken as it is.
            page = lowered if len(lowered) == size else source
            close = page.find(f"</{token.name}", at)
            close = close if close >= 0 else size
            if close > at:
                yield Tag("text", token.name, at, close)
            at = close


def markup_at(source: str, begin: int, last: Mapping[str, int]) -> Tag:
    """Return what begins with the ``<`` at ``begin``; a ``<`` that begins nothing is text."""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")):
        if source.startswith(opening, begin):
            if last[closing] < begin:
                return Tag("other", "", begin, len(source))
            end = source.find(closing, begin + len(opening))
            if opening == "<![CDATA[" and end >= 0:
                return Tag("text", "cdata", begin + len(opening), end)
            return Tag("other", "", begin, len(source) if end < 0 else end + len(closing))
    if last[">"] < begin:
        return Tag("text", "", begin, begin + 1)
    if source.startswith("<!", begin):
        return Tag("other", "", begin, source.find(">", begin) + 1)
    name = _NAME.match(source, begin + 1)
    if name is None:
        return Tag("text", "", begin, begin + 1)
    end = _tag_end(source, name.end(), last)
    word = name.group().lower()
    if word.startswith("/"):
        return Tag("end", word[1:], begin, end)
    return Tag("start", word, begin, end, empty=source[end - 2] == "/")


def _tag_end(source: str, at: int, last: Mapping[str, int]) -> int:
    """Return the offset behind the ``>`` that ends a tag; one inside quotation marks does not."""
    first = source.find(">", at)
    place = at
    limit = at + _LONGEST_TAG
    while True:
        found = _QUOTE.search(source, place, first)
        if found is None or last[found.group()] <= found.start():
            return first + 1
        place = source.find(found.group(), found.end()) + 1
        if place > limit:
            return first + 1
        if place > first:
            if last[">"] < place:
                return first + 1
            first = source.find(">", place)


def attributes(source: str, tag: Tag) -> dict[str, str]:
    """Return the attributes of a start tag, names in lower case."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(source[tag.start + 1 + len(tag.name) : tag.end - 1]):
        name, double, single, bare = match.groups()
        found.setdefault(name.lower(), html.unescape(double or single or bare or ""))
    return found


def hidden(values: Mapping[str, str]) -> bool:
    """Return whether an element with these attributes is not shown to a reader of the page."""
    return (
        values.get("hidden", "until-found").strip().lower() != "until-found"
        or values.get("aria-hidden", "").strip().lower() == "true"
        or _INVISIBLE.search(values.get("style", "")) is not None
    )


def pieces_of(source: str, start: int, end: int) -> Iterator[Piece]:
    """Yield a text without tags, its entities decoded, each piece with its place."""
    at = start
    if source.find("&", start, end) >= 0:
        for match in _LOOSE_ENTITY.finditer(source, start, end):
            first, last = match.span()
            plain = html.unescape(match.group())
            if plain == match.group():
                continue
            if first > at:
                yield Piece(source[at:first], at, first)
            yield Piece(plain, first, last)
            at = last
    if end > at:
        yield Piece(source[at:end], at, end)
