"""pagerag: provenance-aware graph evidence promotion. Connectivity is not support."""

__version__ = "0.1.0"
