"""Where built models and embeddings are kept between runs."""

from pagerag._folders import cache_folder

__all__ = ["cache_folder"]
