"""A BERT encoder as an ONNX graph, built from its safetensors file with the ``onnx`` package alone.

The graph takes ``input_ids`` and ``attention_mask`` (both int64, batch × tokens) and gives
``token_embeddings`` (batch × tokens × hidden) and ``sentence_embedding``: their mean under the mask,
scaled to unit length. Token type 0 is folded into the position table. Query, key and value share one
matrix product, which is what makes the quantised graph fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need

_OPSET = 20  # the first with Gelu as one operator
_IR = 10  # what onnxruntime 1.20, the oldest we allow, can read


class _Graph:
    """Nodes and constants in the making; each ``op`` returns the name of its output."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        if name not in self.constants:
            # np.ascontiguousarray would make a scalar a row, and Gather keep the axis it should drop
            array = np.array(value, order="C")
            self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def ints(self, *values: int) -> str:
        name = "ints_" + "_".join(map(str, values)).replace("-", "m")
        return self.constant(name, np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"number_{value!r}", np.array(value, dtype=np.float32))

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        name = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name


def bert_model(
    tensors: Mapping[str, NDArray[np.float32]],
    *,
    layers: int,
    heads: int,
    epsilon: float = 1e-12,
    prefix: str = "",
) -> Any:
    """Return the ``onnx.ModelProto`` of a BERT encoder whose weights have the usual names.

    ``prefix`` stands before every name in ``tensors`` ("bert." in checkpoints with a head).
    """
    onnx = need("onnx", "onnx", "minilm", "to build the encoder's graph")
    need("onnx.helper", "onnx", "minilm")
    g = _Graph(onnx)

    def weight(name: str) -> NDArray[np.float32]:
        return np.asarray(tensors[prefix + name], dtype=np.float32)

    words = weight("embeddings.word_embeddings.weight")
    places = (
        weight("embeddings.position_embeddings.weight") + weight("embeddings.token_type_embeddings.weight")[0]
    )
    hidden = words.shape[1]
    width = hidden // heads

    def norm(x: str, name: str, out: str | None = None) -> str:
        scale = g.constant(f"{name}.weight", weight(f"{name}.weight"))
        bias = g.constant(f"{name}.bias", weight(f"{name}.bias"))
        return g.op("LayerNormalization", x, scale, bias, out=out, axis=-1, epsilon=epsilon)

    def affine(x: str, name: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        product = g.op("MatMul", x, g.constant(f"{name}.weight", matrix.T))
        return g.op("Add", product, g.constant(f"{name}.bias", bias))

    def dense(x: str, name: str) -> str:
        return affine(x, name, weight(f"{name}.weight"), weight(f"{name}.bias"))

    length = g.op("Shape", "input_ids", start=1, end=2)
    positions = g.op("Slice", g.constant("positions", places), g.ints(0), length, g.ints(0))
    embedded = g.op("Gather", g.constant("words", words), "input_ids")
    x = norm(g.op("Add", embedded, positions), "embeddings.LayerNorm")

    mask = g.op("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)
    hide = g.op("Mul", g.op("Sub", g.number(1.0), mask), g.number(-1e9))
    hide = g.op("Unsqueeze", hide, g.ints(1, 2))

    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        # The 1/sqrt(width) of attention goes into the query's weights.
        scales = (width**-0.5, 1.0, 1.0)
        matrix = np.concatenate([weight(f"{p}.weight") * s for p, s in zip(parts, scales, strict=True)])
        bias = np.concatenate([weight(f"{p}.bias") * s for p, s in zip(parts, scales, strict=True)])
        joint = affine(x, f"{name}.attention.qkv", matrix.astype(np.float32), bias.astype(np.float32))
        # batch × tokens × 3 × heads × width, then 3 × batch × heads × tokens × width
        joint = g.op("Reshape", joint, g.ints(0, 0, 3, heads, width))
        joint = g.op("Transpose", joint, perm=[2, 0, 3, 1, 4])
        query, key, value = (
            g.op("Gather", joint, g.constant(f"index_{i}", np.array(i, dtype=np.int64)), axis=0)
            for i in range(3)
        )
        scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
        weights = g.op("Softmax", g.op("Add", scores, hide), axis=-1)
        mixed = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        mixed = dense(g.op("Reshape", mixed, g.ints(0, 0, hidden)), f"{name}.attention.output.dense")
        x = norm(g.op("Add", mixed, x), f"{name}.attention.output.LayerNorm")
        inner = g.op("Gelu", dense(x, f"{name}.intermediate.dense"))
        inner = g.op("Add", dense(inner, f"{name}.output.dense"), x)
        last = "token_embeddings" if layer == layers - 1 else None
        x = norm(inner, f"{name}.output.LayerNorm", out=last)

    column = g.op("Unsqueeze", mask, g.ints(2))
    total = g.op("ReduceSum", g.op("Mul", x, column), g.ints(1), keepdims=0)
    count = g.op("Max", g.op("ReduceSum", column, g.ints(1), keepdims=0), g.number(1e-9))
    mean = g.op("Div", total, count)
    length_of = g.op("Max", g.op("ReduceL2", mean, g.ints(1), keepdims=1), g.number(1e-12))
    g.op("Div", mean, length_of, out="sentence_embedding")

    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        g.nodes,
        "bert",
        [info(name, onnx.TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [
            info("token_embeddings", onnx.TensorProto.FLOAT, ["batch", "tokens", hidden]),
            info("sentence_embedding", onnx.TensorProto.FLOAT, ["batch", hidden]),
        ],
        initializer=list(g.constants.values()),
    )
    model = onnx.helper.make_model(
        graph, producer_name="pagerag", opset_imports=[onnx.helper.make_opsetid("", _OPSET)]
    )
    model.ir_version = _IR
    onnx.checker.check_model(model)
    return model
