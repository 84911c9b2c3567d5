"""The product's helpers that have no public name yet, imported in one place for the rest of the laboratory.

Everything else enters by the product's public modules, which a test checks.
"""

from pagerag._extras import need
from pagerag._files import sha256_file, sync_folder, write_atomic

__all__ = ["need", "sha256_file", "sync_folder", "write_atomic"]
