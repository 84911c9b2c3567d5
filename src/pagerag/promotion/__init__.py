"""The heart: a pool goes in, a supported context comes out. One file per section of the paper."""

from pagerag.promotion.promoter import Promoter, promote
from pagerag.promotion.result import Promotion
from pagerag.promotion.weights import Weights

__all__ = ["Promoter", "Promotion", "Weights", "promote"]
