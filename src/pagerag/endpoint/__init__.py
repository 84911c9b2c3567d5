"""One OpenAI-compatible HTTP client, for readers, encoders and whatever else talks to a model server.

``Endpoint`` keeps connections, retries, the deadline, the size bounds and the key; ``completions`` knows the
chat wire; ``ResponseCache`` keeps replies on disk.
"""

from pagerag.endpoint.cache import ResponseCache, cache_key
from pagerag.endpoint.client import Endpoint, RetryPolicy
from pagerag.endpoint.completions import Completion

__all__ = ["Completion", "Endpoint", "ResponseCache", "RetryPolicy", "cache_key"]
