"""A promotion as a picture: the evidence paths, the query-local graph, and one page that holds both.

Everything is drawn here as SVG text. The page loads nothing, runs no script, and escapes every word that
came from a document.
"""

from pagerag.explain.graph import graph_svg
from pagerag.explain.page import page
from pagerag.explain.paths import paths_svg

__all__ = ["graph_svg", "page", "paths_svg"]
