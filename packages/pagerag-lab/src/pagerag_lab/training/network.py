"""The network: all-MiniLM-L6-v2 as an ordinary BERT encoder, with one head per token and one on [CLS].

Token head, six channels: span start, span end, support at the marker, support at each token, answer-bearing
at the marker, answer-bearing at each token. A unit's support logit is its marker's channel plus the mean
of its tokens' channel; linear, so that the exported file needs no gathering. [CLS] head: the answer's kind.

Where ``marked`` is set, the last layer is for the markers and [CLS] alone: the token channels are read before it,
so that the exported file computes it at those few places.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from pagerag.models.packing import CLS, MARKER, SEP, WHOLE, Frame

__all__ = ["KINDS", "Network", "load_base"]

KINDS = ("span", "yes", "no", "none")
START, END, SUPPORT_MARK, SUPPORT_TOKEN, ANSWER_MARK, ANSWER_TOKEN = range(6)
AT_MARKERS = tuple(channel in {SUPPORT_MARK, ANSWER_MARK} for channel in range(6))
"""Which channels of the token head are read at a unit's marker alone."""


class Layer(nn.Module):
    """One post-norm transformer layer with BERT's parameters."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        drop = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
        mixed = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        x = self.norm1(x + functional.dropout(mixed, self.dropout, self.training))
        inner = self.down(functional.gelu(self.up(x)))
        return self.norm2(x + functional.dropout(inner, self.dropout, self.training))


class Network(nn.Module):
    """Token ids to (token logits [batch, length, 6], kind logits [batch, 4])."""

    def __init__(
        self,
        layers: int = 6,
        width: int = 384,
        heads: int = 12,
        inner: int = 1536,
        vocabulary: int = 30522,
        dropout: float = 0.1,
        frame: Frame = WHOLE,
        local: int = 0,
        marked: bool = False,
    ) -> None:
        super().__init__()
        self.marked = marked
        self.register_buffer("own", torch.tensor(AT_MARKERS), persistent=False)
        self.dropout, self.block, self.local = dropout, frame.block, local if frame.block else 0
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(frame.limit, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, inner, dropout) for _ in range(layers))
        self.token_head = nn.Linear(width, 6)
        self.kind_hidden = nn.Linear(width, width)
        self.kind_head = nn.Linear(width, len(KINDS))

    def encode(self, ids: Tensor, types: Tensor) -> Tensor:
        """Hidden states; id 0 is padding."""
        return self._states(ids, types)[1]

    def _states(self, ids: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states before and after the last layer."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(places)[None] + self.types(types))
        x = functional.dropout(x, self.dropout, self.training)
        real = ids != 0
        mask = real[:, None, None, :]
        near = self._near(real, types) if self.local else mask
        before = x
        for number, layer in enumerate(self.layers):
            before, x = x, layer(x, near if number < self.local else mask)
        return before, x

    def _near(self, real: Tensor, types: Tensor) -> Tensor:
        """Who reads whom in the first layers: the question itself, a block the question and itself."""
        asked = (real & (types == 0)).sum(1, keepdim=True)
        length = real.sum(1, keepdim=True) - asked
        count = torch.clamp((length + self.block - 1) // self.block, min=1)
        size = torch.clamp((length + count - 1) // count, min=1)
        place = torch.arange(real.shape[1], device=real.device)[None] - asked
        block = torch.where(place < 0, -1, place // size)
        same = block[:, :, None] == block[:, None, :]
        return ((same | (block < 0)[:, None, :]) & real[:, None, :])[:, None]

    def forward(self, ids: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        before, x = self._states(ids, types)
        first = functional.dropout(x[:, 0], self.dropout, self.training)
        tokens = self.token_head(x)
        if self.marked:
            here = ((ids == MARKER) | (ids == CLS))[..., None]
            tokens = torch.where(here & self.own, tokens, self.token_head(before))
        return tokens, self.kind_head(torch.tanh(self.kind_hidden(first)))


def load_base(
    path: Path,
    *,
    dropout: float = 0.1,
    layers: int | None = None,
    frame: Frame = WHOLE,
    local: int = 0,
    marked: bool = False,
) -> Network:
    """The base encoder from a BERT safetensors file, positions repeated up to the frame's limit.

    ``layers`` keeps only the first so many: the last ones of a sentence encoder serve its pooling.

    Repeating the position rows keeps each local pattern of attention valid beyond the base's 512.
    The marker starts as a copy of [SEP]; an unused row was never trained.
    """
    raw: dict[str, Tensor] = {k.removeprefix("bert."): v.float() for k, v in load_file(path).items()}
    count = layers or 1 + max(int(k.split(".")[2]) for k in raw if k.startswith("encoder.layer."))
    network = Network(layers=count, dropout=dropout, frame=frame, local=local, marked=marked)
    state: dict[str, Any] = network.state_dict()
    words = raw["embeddings.word_embeddings.weight"].clone()
    words[MARKER] = words[SEP]
    places = raw["embeddings.position_embeddings.weight"]
    state["words.weight"] = words
    state["positions.weight"] = places.repeat(-(-frame.limit // places.shape[0]), 1)[: frame.limit]
    state["types.weight"] = raw["embeddings.token_type_embeddings.weight"]
    _copy(state, "norm", raw, "embeddings.LayerNorm")
    for i in range(count):
        here, there = f"layers.{i}", f"encoder.layer.{i}"
        for part in ("weight", "bias"):
            state[f"{here}.qkv.{part}"] = torch.cat(
                [raw[f"{there}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            )
        _copy(state, f"{here}.out", raw, f"{there}.attention.output.dense")
        _copy(state, f"{here}.norm1", raw, f"{there}.attention.output.LayerNorm")
        _copy(state, f"{here}.up", raw, f"{there}.intermediate.dense")
        _copy(state, f"{here}.down", raw, f"{there}.output.dense")
        _copy(state, f"{here}.norm2", raw, f"{there}.output.LayerNorm")
    network.load_state_dict(state)
    return network


def _copy(state: dict[str, Any], name: str, raw: dict[str, Tensor], source: str) -> None:
    for part in ("weight", "bias"):
        state[f"{name}.{part}"] = raw[f"{source}.{part}"]
