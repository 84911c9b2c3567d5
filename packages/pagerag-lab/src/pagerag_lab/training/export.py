"""A trained network as one int8 ONNX file that onnxruntime runs alone.

The graph is written node by node, not traced: the token ids come unpadded, one sequence at a time or several
of equal length, so it needs no mask, and attention is one fused node (the runtime's own blocked kernel).
Layers that read in blocks take the blocks as a batch, so they too need no mask; such a network reads one
sequence at a time and is told how many tokens the question has and how many blocks follow. The last layers
that are for the question and the markers alone are computed at their places only. Weights of matrix products
and of the word table become int8, per output channel or row; inputs that are far louder than the others of
their matrix are computed apart (``Graph.linear``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from pagerag.models.packing import MARKER
from pagerag_lab.training.network import AT_MARKERS, Network

__all__ = ["build_graph", "export"]

OPSET, IR = 17, 9
LOUD = 16
"""So many inputs of a matrix may be computed apart."""
Sample = tuple[list[int], list[int]]
"""Token ids and types of one sequence."""


class Graph:
    """Nodes and weights under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value.copy(order="C"), name))
        return name

    def add(
        self,
        kind: str,
        inputs: list[str],
        name: str,
        *,
        domain: str = "",
        outputs: int = 1,
        **attributes: object,
    ) -> str:
        results = [name] if outputs == 1 else [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name, domain=domain, **attributes))
        return results[0]

    def linear(
        self, x: str, name: str, weight: np.ndarray, bias: np.ndarray, loud: np.ndarray | None = None
    ) -> str:
        """Add a product with a matrix; ``loud`` is how large each of its inputs gets, where that is known."""
        over = None if loud is None else self._apart(x, name, weight, loud)
        if over is not None:
            x = f"{name}.quiet"
        product = self.add("MatMul", [x, self.weight(f"{name}.weight", weight.T)], f"{name}.product")
        total = self.add(
            "Add", [product, self.weight(f"{name}.bias", bias)], name if over is None else f"{name}.most"
        )
        return total if over is None else self.add("Add", [total, over], name)

    def _apart(self, x: str, name: str, weight: np.ndarray, loud: np.ndarray) -> str | None:
        """Add ``quiet`` (the inputs cut at a bound) and the product of what a few inputs have beyond it.

        int8 has one step for all inputs of a matrix, so a few loud ones would leave nothing of the others.
        ``x W = clip(x) W + (x - clip(x)) W``, the second product in float32 for the loud inputs alone.
        """
        order = np.argsort(-loud)
        bound = float(loud[order[LOUD]])
        if loud[order[0]] < 2 * bound:
            return None
        few = np.sort(order[:LOUD])
        bounds = [
            self.weight(f"{name}.{end}", np.array(b, np.float32))
            for end, b in (("low", -bound), ("high", bound))
        ]
        there = self.add(
            "Gather", [x, self.weight(f"{name}.loud", few.astype(np.int64))], f"{name}.few", axis=2
        )
        over = self.add("Sub", [there, self.add("Clip", [there, *bounds], f"{name}.cut")], f"{name}.beyond")
        self.add("Clip", [x, *bounds], f"{name}.quiet")
        return self.add("MatMul", [over, self.weight(f"{name}.rows", weight.T[few])], f"{name}.over")

    def norm(self, x: str, name: str, weight: np.ndarray, bias: np.ndarray) -> str:
        scale, shift = self.weight(f"{name}.scale", weight), self.weight(f"{name}.shift", bias)
        return self.add("LayerNormalization", [x, scale, shift], name, axis=-1, epsilon=1e-12)


@torch.inference_mode()
def loudness(network: Network, samples: Sequence[Sample]) -> dict[str, np.ndarray]:
    """Return how large each input of each matrix gets over the samples."""
    found: dict[str, torch.Tensor] = {}

    def listen(name: str) -> Callable[..., None]:
        def hear(_: nn.Module, given: tuple[torch.Tensor, ...], __: object) -> None:
            most = given[0].abs().flatten(0, -2).amax(0)
            found[name] = torch.maximum(found.get(name, most), most)

        return hear

    hooks = [
        getattr(layer, part).register_forward_hook(listen(f"layer{number}.{part}"))
        for number, layer in enumerate(network.layers)
        for part in ("qkv", "up", "down")
    ]
    for ids, types in samples:
        network(torch.tensor([ids]), torch.tensor([types]))
    for hook in hooks:
        hook.remove()
    return {name: most.numpy() for name, most in found.items()}


def build_graph(network: Network, samples: Sequence[Sample] = ()) -> onnx.ModelProto:
    """Return the float32 graph; ``samples`` show which inputs of its matrices are loud.

    Ids and types [batch, length] to tokens [batch, length, 6] and kinds [batch, 4].
    """
    loud = loudness(network, samples)
    state = {k: v.detach().float().cpu().numpy() for k, v in network.state_dict().items()}
    g = Graph()
    words = g.add("Gather", [g.weight("words", state["words.weight"]), "ids"], "word_rows")
    types = g.add("Gather", [g.weight("types_table", state["types.weight"]), "types"], "type_rows")
    shape = g.add("Shape", ["ids"], "shape")
    length = g.add("Gather", [shape, g.weight("one", np.array(1, np.int64))], "length")
    zero = g.weight("zero", np.array(0, np.int64))
    places = g.add("Range", [zero, length, "one"], "places")
    positions = g.add("Gather", [g.weight("positions", state["positions.weight"]), places], "position_rows")
    if network.local:
        _block_shapes(g, state["words.weight"].shape[1])
    bias = _biases(g, state["distances"]) if network.distances is not None else None
    x = g.add("Add", [words, types], "words_types")
    x = g.add("Add", [x, positions], "embedded")
    x = g.norm(x, "embedding_norm", state["norm.weight"], state["norm.bias"])
    few = len(network.layers) - network.marked
    whole = x  # what the layers before the marked ones made; the marked ones change it at the markers alone
    for i, layer in enumerate(network.layers):
        part = {k.removeprefix(f"layers.{i}."): v for k, v in state.items() if k.startswith(f"layers.{i}.")}
        if i >= few:
            if i == few:
                before = g.linear(
                    x, "token_head_before", state["token_head.weight"], state["token_head.bias"]
                )
                _mark_places(g)
            else:
                whole = _scatter(g, whole, x, f"layer{i}.whole")
            whole = x if i == few else whole
            x = _marked_layer(g, whole, f"layer{i}", part, layer.heads)
        else:
            qkv = g.linear(
                x, f"layer{i}.qkv", part["qkv.weight"], part["qkv.bias"], loud.get(f"layer{i}.qkv")
            )
            g.add("Split", [qkv], f"layer{i}.parts", outputs=3, axis=-1)
            qkv_parts = [f"layer{i}.parts.{j}" for j in range(3)]
            if i < network.local:
                mixed = _local(g, qkv_parts, f"layer{i}", layer.heads)
            else:
                mixed = _attention(g, qkv_parts, f"layer{i}", layer.heads, bias)
            x = _rest(g, x, mixed, f"layer{i}", part, loud)
    tokens = g.linear(x, "token_head", state["token_head.weight"], state["token_head.bias"])
    if network.marked:
        _put_back(g, before, tokens)
    g.nodes[-1].output[0] = "tokens"
    first = g.add("Gather", [x, zero], "first", axis=1)
    hidden = g.add(
        "Tanh",
        [g.linear(first, "kind_hidden", state["kind_hidden.weight"], state["kind_hidden.bias"])],
        "kind_tanh",
    )
    g.linear(hidden, "kind_head", state["kind_head.weight"], state["kind_head.bias"])
    g.nodes[-1].output[0] = "kinds"
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in ("ids", "types")
    ]
    if network.local:
        inputs += [helper.make_tensor_value_info(n, TensorProto.INT64, [1]) for n in ("asked", "blocks")]
    results = [
        helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "length", 6]),
        helper.make_tensor_value_info("kinds", TensorProto.FLOAT, ["batch", 4]),
    ]
    graph = helper.make_graph(g.nodes, "pagerag", inputs, results, g.weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="pagerag")


def _rest(
    g: Graph, x: str, mixed: str, n: str, part: dict[str, np.ndarray], loud: dict[str, np.ndarray]
) -> str:
    """Add what a layer does after its attention."""
    out = g.linear(mixed, f"{n}.out", part["out.weight"], part["out.bias"])
    x = g.norm(g.add("Add", [out, x], f"{n}.sum1"), f"{n}.norm1", part["norm1.weight"], part["norm1.bias"])
    up = g.linear(x, f"{n}.up", part["up.weight"], part["up.bias"], loud.get(f"{n}.up"))
    act = g.add("Gelu", [up], f"{n}.gelu", domain="com.microsoft")
    down = g.linear(act, f"{n}.down", part["down.weight"], part["down.bias"], loud.get(f"{n}.down"))
    return g.norm(
        g.add("Add", [down, x], f"{n}.sum2"), f"{n}.norm2", part["norm2.weight"], part["norm2.bias"]
    )


def _mark_places(g: Graph) -> None:
    """Add ``marks``, the places of the question and the markers, and ``mark_index``, the same as a column."""
    axis = g.weight("first_axis", np.array([0], np.int64))
    is_marker = g.add("Equal", ["ids", g.weight("marker", np.array(MARKER, np.int64))], "is_marker")
    is_asked = g.add("Equal", ["types", "zero"], "is_asked")
    here = g.add("Squeeze", [g.add("Or", [is_marker, is_asked], "is_here"), axis], "flat_here")
    g.add("Squeeze", [g.add("NonZero", [here], "found"), axis], "marks")
    g.add("Unsqueeze", ["marks", g.weight("last_axis", np.array([1], np.int64))], "mark_index")


def _marked_layer(g: Graph, whole: str, n: str, part: dict[str, np.ndarray], heads: int) -> str:
    """Add a layer at ``marks`` alone, which reads every token; returns the states there."""
    here = g.add("Gather", [whole, "marks"], f"{n}.here", axis=1)
    width = part["out.weight"].shape[0]
    query = g.linear(here, f"{n}.query", part["qkv.weight"][:width], part["qkv.bias"][:width])
    told = g.linear(whole, f"{n}.told", part["qkv.weight"][width:], part["qkv.bias"][width:])
    g.add("Split", [told], f"{n}.parts", outputs=2, axis=-1)
    mixed = _attention(g, [query, f"{n}.parts.0", f"{n}.parts.1"], n, heads)
    return _rest(g, here, mixed, n, part, {})


def _scatter(g: Graph, whole: str, rows: str, name: str) -> str:
    """Put the states at ``marks`` back among those of all tokens."""
    flat = g.add("Squeeze", [whole, "first_axis"], f"{name}.flat")
    new = g.add("Squeeze", [rows, "first_axis"], f"{name}.rows")
    return g.add(
        "Unsqueeze", [g.add("ScatterND", [flat, "mark_index", new], f"{name}.set"), "first_axis"], name
    )


def _put_back(g: Graph, before: str, at_markers: str) -> None:
    """Return the token channels of every place, with the markers' own channels at their places."""
    own = g.weight("own_channels", np.array(AT_MARKERS))
    under = g.add("Gather", [before, "marks"], "under_marks", axis=1)
    _scatter(g, before, g.add("Where", [own, at_markers, under], "mark_rows"), "tokens")


def _attention(g: Graph, parts: list[str], name: str, heads: int, bias: str | None = None) -> str:
    """Let every token read every other: query, key and value [batch, length, width]."""
    inputs = parts if bias is None else [*parts, "", "", bias]
    return g.add("MultiHeadAttention", inputs, f"{name}.mixed", domain="com.microsoft", num_heads=heads)


def _biases(g: Graph, distances: np.ndarray) -> str:
    """Add what attention adds for the distance of two tokens [1, heads, length, length]."""
    column = g.add("Unsqueeze", ["places", g.weight("column_axis", np.array([1], np.int64))], "places_column")
    middle = g.weight("middle", np.array(distances.shape[1] // 2, np.int64))
    apart = g.add("Sub", [g.add("Add", ["places", middle], "places_ahead"), column], "apart")
    table = g.weight("distances", distances)
    rows = g.add("Gather", [table, apart], "distance_rows", axis=1)
    return g.add("Unsqueeze", [rows, g.weight("batch_axis", np.array([0], np.int64))], "attention_bias")


def _block_shapes(g: Graph, width: int) -> None:
    """Return the constants and shapes that the layers with blocks share."""
    for name, value in (
        ("start", 0),
        ("all", np.iinfo(np.int64).max),
        ("along", 1),
        ("any", -1),
        ("wide", width),
    ):
        g.weight(name, np.array([value], np.int64))
    g.add("Concat", ["blocks", "any", "wide"], "in_blocks", axis=0)
    g.add("Concat", ["along", "any", "wide"], "in_one", axis=0)
    g.add("Concat", ["blocks", "along", "along"], "per_block", axis=0)


def _local(g: Graph, parts: list[str], name: str, heads: int) -> str:
    """Return the question reads itself; each block reads the question and itself."""
    asked, blocks = [], []
    for part, label in zip(parts, "qkv", strict=True):
        asked.append(g.add("Slice", [part, "start", "asked", "along"], f"{name}.{label}.asked"))
        rest = g.add("Slice", [part, "asked", "all", "along"], f"{name}.{label}.rest")
        block = g.add("Reshape", [rest, "in_blocks"], f"{name}.{label}.blocks")
        if label != "q":
            told = g.add("Expand", [asked[-1], "per_block"], f"{name}.{label}.told")
            block = g.add("Concat", [told, block], f"{name}.{label}.seen", axis=1)
        blocks.append(block)
    first = _attention(g, asked, f"{name}.question", heads)
    rest = g.add("Reshape", [_attention(g, blocks, f"{name}.units", heads), "in_one"], f"{name}.joined")
    return g.add("Concat", [first, rest], f"{name}.mixed", axis=1)


def export(network: Network, path: Path, samples: Sequence[Sample] = ()) -> Path:
    """Write the int8 file; returns it. The heads stay float32 (they are tiny and decide everything)."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    full = path.with_suffix(".float.onnx")
    graph = build_graph(network, samples)
    onnx.save(graph, full)
    apart = [node.name for node in graph.graph.node if node.name.endswith((".few", ".over"))]
    keep = ["token_head.product", "token_head_before.product", "kind_hidden.product", "kind_head.product"]
    quantize_dynamic(
        full,
        path,
        weight_type=QuantType.QInt8,
        per_channel=True,
        nodes_to_exclude=[*keep, *apart, "distance_rows"],
        op_types_to_quantize=["MatMul", "Gather"],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    full.unlink()
    return path
