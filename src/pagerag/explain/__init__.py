"""A promotion as a picture: the evidence paths, one page that holds them, and the data both are drawn from.

``view`` makes the data, ``page`` one self-contained file of it, ``paths_svg`` the evidence paths alone. Every
word that came from a document is escaped or set as text.
"""

from pagerag.explain.paths import paths_svg
from pagerag.explain.view import app_page, page, view

__all__ = ["app_page", "page", "paths_svg", "view"]
