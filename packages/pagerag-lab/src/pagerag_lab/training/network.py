"""The network: an ordinary BERT or MPNet encoder, with one head per token and one on [CLS].

Token head, six channels: span start, span end, support at the marker, support at each token, answer-bearing
at the marker, answer-bearing at each token. A unit's support logit is its marker's channel plus the mean
of its tokens' channel; linear, so that the exported file needs no gathering. [CLS] head: the answer's kind.

The last ``marked`` layers are computed at the question and the markers alone, which read every token as it
was before them; the token channels are read there too. So the exported file spends little time on those
layers. MPNet's attention has a bias for each distance between two tokens; it is not trained further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from pagerag.models.packing import MARKER, SEP, WHOLE, Frame

__all__ = ["KINDS", "Network", "by_distance", "in_few_bytes", "load_base", "network_of", "whole"]

KINDS = ("span", "yes", "no", "none")
WORDS = "embeddings.word_embeddings.weight"
DISTANCES = "encoder.relative_attention_bias.weight"
FEW = 100_000
"""Tables with fewer numbers are kept in float16 for a long way; int8 would save nothing."""
START, END, SUPPORT_MARK, SUPPORT_TOKEN, ANSWER_MARK, ANSWER_TOKEN = range(6)
AT_MARKERS = tuple(channel in {SUPPORT_MARK, ANSWER_MARK} for channel in range(6))
"""Which channels of the token head are read at a unit's marker alone."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a batch, the question of each sequence one of them: flat places, padding behind the last.

    ``own`` [blocks, size] are a block's tokens, ``seen`` those that they read (``mask`` says which are real).
    ``asks`` are ``own`` with some real place for padding, as in ``seen``: each place is read by few, so that
    gradients do not all meet at one row.
    """

    own: Tensor
    asks: Tensor
    seen: Tensor
    mask: Tensor


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
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        return self._after(x, query, key, value, mask)

    def read(self, here: Tensor, x: Tensor, mask: Tensor) -> Tensor:
        """Compute the layer at a few places, whose states are ``here``, that read all states ``x``."""
        width = x.shape[-1]
        weight, bias = self.qkv.weight, self.qkv.bias
        query = functional.linear(here, weight[:width], bias[:width])
        told = functional.linear(x, weight[width:], bias[width:])
        key, value = told.chunk(2, dim=-1)
        return self._after(here, query, key, value, mask)

    def _after(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, part.shape[1], self.heads, width // self.heads).transpose(1, 2)
            for part in (query, key, value)
        )
        drop = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
        return self._finish(x, mixed.transpose(1, 2).reshape(batch, length, width))

    def read_blocks(self, x: Tensor, blocks: Blocks) -> Tensor:
        """Compute the layer where each token reads its block and the question alone."""
        batch, length, width = x.shape
        flat = self.qkv(x).view(batch * length, 3 * width)
        # index_select, not indexing: its gradient is an addition, that of indexing sorts the places first.
        query = flat[:, :width].index_select(0, blocks.asks.flatten()).view(*blocks.asks.shape, width)
        told = flat[:, width:].index_select(0, blocks.seen.flatten()).view(*blocks.seen.shape, 2 * width)
        q, k, v = (
            part.view(*part.shape[:2], self.heads, width // self.heads).transpose(1, 2)
            for part in (query, *(half.contiguous() for half in told.chunk(2, dim=-1)))
        )
        drop = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=blocks.mask, dropout_p=drop)
        rows = mixed.transpose(1, 2).reshape(-1, width)
        flat = rows.new_zeros(batch * length + 1, width).index_copy(0, blocks.own.view(-1), rows)
        return self._finish(x, flat[:-1].view(batch, length, width))

    def _finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        mixed = self.out(mixed)
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
        marked: int = 0,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.marked = marked
        if relative and (marked or local):
            raise ValueError(
                "biases by distance go with layers that read everything; set local and marked to 0"
            )
        # [heads, 2 * limit - 1]: what attention adds for each distance, the farthest behind first.
        self.register_buffer("distances", torch.zeros(heads, 2 * frame.limit - 1) if relative else None)
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
        """Hidden states before and after the layers that are computed at the markers alone."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(places)[None] + self.types(types))
        x = functional.dropout(x, self.dropout, self.training)
        real = ids != 0
        mask = real[:, None, None, :]
        if self.distances is not None:
            mask = self._biased(mask, x)
        blocks = self._blocks(real, types) if self.local else None
        for number, layer in enumerate(self.layers[: len(self.layers) - self.marked]):
            x = layer(x, mask) if blocks is None or number >= self.local else layer.read_blocks(x, blocks)
        return x, self._at_markers(ids, types, x, mask) if self.marked else x

    def _biased(self, mask: Tensor, x: Tensor) -> Tensor:
        """Return what is added to attention [batch, heads, length, length]: no token reads padding."""
        device, length = x.device, x.shape[1]
        places = torch.arange(length, device=device)
        middle = self.distances.shape[1] // 2
        bias = self.distances[:, middle + places[None, :] - places[:, None]][None]
        cast = torch.is_autocast_enabled(device.type)
        bias = bias.to(torch.get_autocast_dtype(device.type) if cast else x.dtype)
        return torch.where(mask, bias, -torch.inf)

    def _at_markers(self, ids: Tensor, types: Tensor, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states after the last layers at the question and the markers, the others as they are."""
        here = ((types == 0) & (ids != 0)) | (ids == MARKER)
        # The places of each sequence, one after another; what is left points at a row behind the end.
        count, length = int(here.sum(1).max()), ids.shape[1]
        rank = torch.where(here, here.cumsum(1) - 1, count)
        index = torch.full((len(ids), count + 1), length, device=ids.device)
        places = torch.arange(length, device=ids.device).expand_as(ids)
        index.scatter_(1, rank, torch.where(here, places, length))
        index = index[:, :count, None].expand(-1, -1, x.shape[-1])
        whole = functional.pad(x, (0, 0, 0, 1))
        seen = functional.pad(mask, (0, 1))
        for layer in self.layers[len(self.layers) - self.marked :]:
            whole = whole.scatter(1, index, layer.read(whole.gather(1, index), whole, seen).to(whole.dtype))
        return whole[:, :length]

    def _blocks(self, real: Tensor, types: Tensor) -> Blocks:
        """Return who reads whom in the first layers: the question itself, a block the question and itself."""
        asked = (real & (types == 0)).sum(1)
        length = real.sum(1) - asked
        count = torch.clamp((length + self.block - 1) // self.block, min=1)
        size = torch.clamp((length + count - 1) // count, min=1)
        blocks, longest, widest = torch.stack([count.max(), asked.max(), size.max()]).tolist()
        device, behind = real.device, real.numel()
        number = torch.arange(-1, blocks, device=device)[None, :, None]  # -1 is the question
        place = torch.arange(max(longest, widest), device=device)[None, None]
        begin, span, stop = asked[:, None, None], size[:, None, None], real.sum(1)[:, None, None]
        own = torch.where(number < 0, place, begin + number * span + place)
        there = torch.where(number < 0, place < begin, (place < span) & (own < stop))
        asks = place[..., :longest].expand(len(real), blocks + 1, longest)
        seen = torch.cat([asks, own], -1)
        mask = torch.cat([asks < begin, there & (number >= 0)], -1)
        first = (torch.arange(len(real), device=device) * real.shape[1])[:, None, None]
        kept = (number[..., 0] < count[:, None]).flatten()
        asks, seen = (_some_real(w, h, first, behind) for w, h in ((own, there), (seen, mask)))
        own = torch.where(there, own + first, behind)
        own, asks, seen, mask = (part.flatten(0, 1)[kept] for part in (own, asks, seen, mask))
        return Blocks(own, asks, seen, mask[:, None, None])

    def forward(self, ids: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """Return the token channels [batch, length, 6] and the answer's kind [batch, 4]."""
        before, x = self._states(ids, types)
        first = functional.dropout(x[:, 0], self.dropout, self.training)
        tokens = self.token_head(x)
        if self.marked:
            here = ((ids == MARKER) | (types == 0))[..., None]
            tokens = torch.where(here & self.own, tokens, self.token_head(before))
        return tokens, self.kind_head(torch.tanh(self.kind_hidden(first)))


def _some_real(where: Tensor, there: Tensor, first: Tensor, behind: int) -> Tensor:
    """Return the flat places, those of padding spread over all that there are."""
    spread = torch.arange(where.numel(), device=where.device).view(where.shape) % behind
    return torch.where(there, where + first, spread)


def in_few_bytes(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return parameters for a long way: matrices as int8 with a scale for each row, the rest as float16."""
    found = {}
    for name, value in state.items():
        if value.ndim == 2 and value.numel() >= FEW:
            scale = value.float().abs().amax(1, keepdim=True).clamp(min=1e-9) / 127
            found[f"{name}.int8"] = (value.float() / scale).round().to(torch.int8)
            found[f"{name}.scale"] = scale
        else:
            found[name] = value.half().contiguous()
    return found


def whole(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the float32 parameters of a file, whether they came in few bytes or not."""
    found = {}
    for name, value in state.items():
        if name.endswith(".int8"):
            plain = name.removesuffix(".int8")
            found[plain] = value.float() * state[f"{plain}.scale"]
        elif f"{name.removesuffix('.scale')}.int8" not in state:
            found[name] = value.float()
    return found


def load_base(
    path: Path,
    *,
    dropout: float = 0.1,
    layers: int | None = None,
    frame: Frame = WHOLE,
    local: int = 0,
    marked: int = 0,
) -> Network:
    """Return the base encoder from a BERT safetensors file, positions repeated up to the frame's limit.

    ``layers`` keeps only the first so many: the last ones of a sentence encoder serve its pooling.

    Repeating the position rows keeps each local pattern of attention valid beyond the base's 512.
    The marker starts as a copy of [SEP]; an unused row was never trained.
    """
    raw = {k.removeprefix("bert."): v for k, v in whole(load_file(path)).items()}
    count = layers or 1 + max(int(k.split(".")[2]) for k in raw if k.startswith("encoder.layer."))
    words = raw[WORDS].clone()
    network = Network(
        layers=count,
        width=words.shape[1],
        inner=len(raw["encoder.layer.0.intermediate.dense.weight"]),
        dropout=dropout,
        frame=frame,
        local=local,
        marked=marked,
        relative=DISTANCES in raw,
    )
    state: dict[str, Any] = network.state_dict()
    if DISTANCES in raw:
        state["distances"] = by_distance(raw[DISTANCES], frame.limit)
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


def network_of(state: dict[str, Tensor], *, frame: Frame = WHOLE, local: int = 0, marked: int = 0) -> Network:
    """Return the network whose weights these are, its sizes read from them."""
    words, biases = state["words.weight"], state.get("distances")
    network = Network(
        layers=1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers.")),
        width=words.shape[1],
        inner=len(state["layers.0.up.weight"]),
        vocabulary=len(words),
        frame=frame,
        local=local,
        marked=marked,
        relative=biases is not None,
    )
    network.load_state_dict(state)
    return network.eval()


def by_distance(table: Tensor, limit: int, farthest: int = 128) -> Tensor:
    """Return MPNet's bias of each distance [heads, 2 * limit - 1] from its table [buckets, heads].

    Half of the buckets are for tokens behind. Of each half, the first half has a bucket for each distance,
    the rest widen by logarithm up to ``farthest``.
    """
    half = len(table) // 2
    near = half // 2
    distance = torch.arange(1 - limit, limit)
    size = distance.abs().clamp(min=1)
    wide = near + (torch.log(size / near) / math.log(farthest / near) * (half - near)).long()
    bucket = torch.where(distance.abs() < near, distance.abs(), wide.clamp(max=half - 1))
    return table[bucket + half * (distance > 0)].T.contiguous()


def _copy(state: dict[str, Any], name: str, raw: dict[str, Tensor], source: str) -> None:
    for part in ("weight", "bias"):
        state[f"{name}.{part}"] = raw[f"{source}.{part}"]
