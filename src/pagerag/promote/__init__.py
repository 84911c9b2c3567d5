"""The heart: a pool goes in, a supported context comes out. One file per section of the paper."""

from pagerag.promote.promoter import Promoter, promote
from pagerag.promote.result import Promotion
from pagerag.promote.weights import Weights

__all__ = ["Promoter", "Promotion", "Weights", "promote"]
