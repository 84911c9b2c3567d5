"""MPNet's attention biases, and the exported graph of a network that has them. Needs torch, so CI skips it."""

from __future__ import annotations

import math
from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="training needs torch: run it in an environment that has it")
pytest.importorskip("safetensors", reason="training needs safetensors")

from pagerag.models.packing import Frame  # noqa: E402
from pagerag_lab.training.base import WORDS, convert_mpnet  # noqa: E402
from pagerag_lab.training.export import build_graph, loudness  # noqa: E402
from pagerag_lab.training.network import Network, by_distance, in_few_bytes, network_of, whole  # noqa: E402


def bucket(distance: int, buckets: int = 32, farthest: int = 128) -> int:
    """MPNet's bucket of a distance, written out for one number."""
    half = buckets // 2
    near, size = half // 2, abs(distance)
    if size >= near:
        size = min(half - 1, near + int(math.log(size / near) / math.log(farthest / near) * (half - near)))
    return size + (half if distance > 0 else 0)


def test_each_distance_has_the_bias_of_its_bucket() -> None:
    table = torch.randn(32, 3)
    biases = by_distance(table, 300)
    assert biases.shape == (3, 599)
    for distance in range(-299, 300):
        assert torch.equal(biases[:, 299 + distance], table[bucket(distance)])


def small_network(**given) -> Network:
    torch.manual_seed(0)
    network = Network(layers=2, width=48, heads=12, inner=96, vocabulary=200, frame=Frame(limit=64), **given)
    with torch.no_grad():
        if network.distances is not None:
            network.distances.normal_()
        network.layers[0].up.bias[:3] += 40.0  # three inputs of the next matrix that are far louder
    return network.eval()


@pytest.mark.parametrize(("relative", "shown"), list(product([True, False], repeat=2)))
def test_the_graph_says_what_the_network_says(relative: bool, shown: bool, tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    network = small_network(relative=relative)
    ids = torch.randint(110, 200, (1, 40))
    types = torch.ones_like(ids)
    samples = [(ids[0].tolist(), types[0].tolist())] if shown else []
    if shown:
        assert loudness(network, samples)["layer0.down"].max() > 30
    onnx.save(build_graph(network, samples), tmp_path / "graph.onnx")
    session = runtime.InferenceSession(tmp_path / "graph.onnx")
    tokens, kinds = session.run(None, {"ids": ids.numpy(), "types": types.numpy()})
    with torch.inference_mode():
        theirs = network(ids, types)
    assert torch.allclose(torch.from_numpy(tokens), theirs[0], atol=1e-4)
    assert torch.allclose(torch.from_numpy(kinds), theirs[1], atol=1e-4)


def test_a_network_is_made_again_from_its_weights() -> None:
    network = small_network(relative=True)
    again = network_of(whole(in_few_bytes(network.state_dict())), frame=Frame(limit=64))
    assert {k: v.shape for k, v in again.state_dict().items()} == {
        k: v.shape for k, v in network.state_dict().items()
    }


def test_padding_changes_nothing() -> None:
    network = small_network(relative=True)
    ids = torch.randint(110, 200, (1, 30))
    longer = torch.nn.functional.pad(ids, (0, 10))
    with torch.inference_mode():
        short, _ = network(ids, torch.ones_like(ids))
        padded, _ = network(longer, torch.ones_like(longer))
    assert torch.allclose(short, padded[:, :30], atol=1e-5)


def test_mpnets_rows_come_into_berts_order() -> None:
    words = torch.arange(30527.0)[:, None].expand(-1, 2).clone()
    state = {WORDS: words, "embeddings.position_embeddings.weight": torch.arange(514.0)[:, None]}
    found = convert_mpnet(state)
    rows = found[WORDS][:, 0].tolist()
    assert len(rows) == 30522
    assert [rows[i] for i in (0, 100, 101, 102)] == [1, 3, 0, 2]
    assert rows[1] == 5
    assert rows[30521] == 30525
    assert found["embeddings.position_embeddings.weight"][0, 0] == 2
