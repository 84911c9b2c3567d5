"""The encoders that need torch, with tiny models of the same architecture built here.

Run them where torch and sentence-transformers are installed; elsewhere they are skipped.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from pagerag.errors import MissingExtraError
from pagerag.retrieve import encoder
from pagerag.retrieve.encoders.transformers import PRESETS, SentenceTransformersEncoder
from pagerag.retrieve.late import LateInteractionRetriever, PyLateEncoder, token_encoder
from pagerag.units import Candidate

NEEDS_TORCH = "needs torch and sentence-transformers: run it in an environment that has them"
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "hans",
    "zimmer",
    "was",
    "born",
    "in",
    "frankfurt",
    "nolan",
    "directed",
    "gravity",
    "query",
    ":",
    "</s>",
]


def test_a_missing_library_is_named() -> None:
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match="sentence-transformers"):
            encoder("sentence-transformers:facebook/contriever")
    else:
        pytest.skip("sentence-transformers is installed")


def test_presets_are_what_the_authors_say() -> None:
    nv_embed = PRESETS["nvidia/NV-Embed-v2"]
    assert nv_embed.query_prefix.startswith("Instruct: ")
    assert nv_embed.query_prefix.endswith("\nQuery: ")
    assert nv_embed.add_eos
    assert not nv_embed.passage_prefix
    assert PRESETS["facebook/contriever"].query_prefix == ""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with a vocabulary of a dozen words: Contriever's architecture, without its
    sentence-transformers files, as Contriever is published."""
    pytest.importorskip("sentence_transformers", reason=NEEDS_TORCH)
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-contriever")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), eos_token="</s>").save_pretrained(folder)
    return folder


def test_contriever_is_the_mean_of_its_tokens(tiny: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    made = encoder(f"sentence-transformers:{tiny}")
    texts = ["hans zimmer was born in frankfurt", "nolan"]
    rows = made.encode_passages(texts)
    assert rows.shape == (2, made.dimension) == (2, 24)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    tokenizer, model = AutoTokenizer.from_pretrained(tiny), AutoModel.from_pretrained(tiny)
    for row, text in zip(rows, texts, strict=True):
        with torch.no_grad():
            states = model(**tokenizer([text], return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(dim=0).numpy()
        assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-4)
    assert made.encode_queries([]).shape == (0, 24)
    assert np.allclose(pickle.loads(pickle.dumps(made)).encode_passages(texts), rows, atol=1e-5)  # noqa: S301


def test_nv_embed_gets_its_instruction_and_its_end(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SentenceTransformersEncoder(
        str(tiny), preset="nvidia/NV-Embed-v2", max_tokens=64, trust_remote_code=True
    )
    seen: list[tuple[list[str], str | None]] = []
    plain = made._model.encode

    def spy(texts: list[str], **options: object) -> object:
        seen.append((list(texts), options.get("prompt")))  # type: ignore[arg-type]
        return plain(texts, **options)

    monkeypatch.setattr(made._model, "encode", spy)
    query = made.encode_queries(["zimmer"])
    passage = made.encode_passages(["zimmer"])
    assert seen[0] == (["zimmer</s>"], PRESETS["nvidia/NV-Embed-v2"].query_prefix)
    assert seen[1] == (["zimmer</s>"], None)
    assert not np.allclose(query, passage)
    assert made._model.tokenizer.padding_side == "right"
    assert made._model.max_seq_length == 64
    assert made.preset.add_eos


def test_another_prefix_is_another_encoder(tiny: Path) -> None:
    plain = SentenceTransformersEncoder(str(tiny))
    prefixed = SentenceTransformersEncoder(str(tiny), query_prefix="query : ")
    assert plain.name != prefixed.name  # or a cache would mix their vectors
    assert not np.allclose(plain.encode_queries(["nolan"]), prefixed.encode_queries(["nolan"]))


def test_token_vectors_for_late_interaction(tiny: Path) -> None:
    tokens = token_encoder(f"sentence-transformers:{tiny}")
    units = [Candidate("a", "zimmer was born in frankfurt"), Candidate("b", "nolan directed gravity")]
    pool = LateInteractionRetriever(units, tokens).retrieve("nolan directed gravity", 2)
    assert pool.candidates[0].id == "b"


def test_colbert_through_pylate(tiny: Path) -> None:
    models = pytest.importorskip("pylate.models", reason="needs pylate: run it in an environment that has it")
    folder = tiny.parent / "tiny-colbert"
    models.ColBERT(model_name_or_path=str(tiny), embedding_size=16, device="cpu").save(str(folder))
    tokens = PyLateEncoder(str(folder), device="cpu")
    rows = tokens.passage_tokens(["hans zimmer", "nolan"])
    assert rows[0].shape[1] == 16
    assert np.allclose(np.linalg.norm(rows[0], axis=1), 1, atol=1e-3)
    assert tokens.query_tokens([]) == []
    pool = LateInteractionRetriever([Candidate("a", "zimmer"), Candidate("b", "nolan")], tokens).retrieve(
        "nolan", 2
    )
    assert len(pool) == 2
