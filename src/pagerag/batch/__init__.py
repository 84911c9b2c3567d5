"""The same work in chunks on the processes of this machine, or on a Ray cluster, with a journal.

A chunk is a module's function with plain arguments; it depends on nothing else, so that whoever does it, and
however often, the result is the same. ``Processes`` and ``Cluster`` take chunks and give futures; ``Journal``
keeps finished ones on this machine's disk, so that work goes on after this process was killed.
"""

from __future__ import annotations

from pagerag.batch.hands import ENGINES, Hands, in_order, open_hands
from pagerag.batch.journal import Journal, OtherWorkError
from pagerag.batch.processes import Processes

__all__ = ["ENGINES", "Hands", "Journal", "OtherWorkError", "Processes", "in_order", "open_hands"]
