"""Measure evidence, rankings, probabilities and answers."""

from pagerag_lab.metrics.measures import *  # noqa: F403  (the list of measures stands there, once)
from pagerag_lab.metrics.measures import __all__ as __all__
