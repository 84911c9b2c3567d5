"""HTML: the text that a reader of the page sees, the headings as sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pagerag._extras import need
from pagerag.ingest.documents import Document, IngestSettings, SourceFile, TextBuilder
from pagerag.ingest.formats.text import decode

__all__ = ["read_html"]

# Not text of the page, or not its own: scripts, and what surrounds the article on every page of a site.
_DROPPED = frozenset(
    ("script", "style", "noscript", "template", "svg", "head", "nav", "footer", "aside", "form", "button")
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = _HEADINGS.union(
    ("address", "article", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div"),
    ("dl", "dt", "fieldset", "figcaption", "figure", "header", "hgroup", "hr", "html", "li", "main", "ol"),
    ("p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"),
)


def read_html(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """The title is the page's own, or its first heading of the first level."""
    soup_of = need("bs4", "beautifulsoup4", "html", "to read HTML files")
    data = file.read(settings.max_file_bytes)
    # The page's own declaration of its encoding counts unless the bytes say otherwise.
    found = soup_of.UnicodeDammit(data, ["utf-8"], is_html=True)
    text = found.unicode_markup if found.unicode_markup and b"\0" not in data[:4096] else decode(file, data)
    soup = soup_of.BeautifulSoup(text, "html.parser")
    first = soup.title or soup.find("h1")
    title = " ".join(first.get_text(" ").split()) if first is not None else ""
    builder = TextBuilder()
    _walk(soup, builder, soup_of)
    yield builder.document(title, file.stem)


def _walk(root: Any, builder: TextBuilder, soup_of: Any) -> None:
    """Inline text is gathered until a block begins or ends. A loop, since pages can nest very deep."""
    line: list[str] = []

    def flush(heading: bool = False) -> None:
        builder.block("".join(line), heading=heading)
        line.clear()

    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str) and not hasattr(node, "contents"):
            if node in ("</block>", "</heading>") and isinstance(node, _End):
                flush(node == "</heading>")
            elif type(node) is soup_of.NavigableString:  # not comments, doctypes and the like
                line.append(" ".join(node.split("\n")))
            continue
        name = node.name
        if name in _DROPPED:
            continue
        if name == "br":
            line.append("\n")
            continue
        if name in ("td", "th") and line:
            line.append(" | ")
        children = list(node.contents)
        if name in _BLOCKS:
            flush()
            stack.append(_End("</heading>" if name in _HEADINGS else "</block>"))
        stack.extend(reversed(children))
    flush()


class _End(str):
    """Marks the end of a block on the stack."""

    __slots__ = ()
