from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pagerag import Candidate
from pagerag.promotion.export import Graph
from tests.promotion.evidence_of import FILM, MAN, POOL, evidence_of


@pytest.fixture
def graph() -> Graph:
    return Graph.from_evidence(evidence_of())


def test_three_kinds_of_nodes_and_edges_that_end_at_them(graph: Graph) -> None:
    names = {node["id"] for node in graph.nodes}
    assert {node["kind"] for node in graph.nodes} == {"document", "sentence", "entity"}
    assert {"document:Interstellar", "sentence:man", "entity:hans zimmer"} <= names
    assert len(names) == len(graph.nodes)
    assert all({edge["from"], edge["to"]} <= names for edge in graph.edges)
    kinds = {edge["kind"] for edge in graph.edges}
    assert {"contains", "mention", "shared entity", "adjacent"} <= kinds


def test_the_link_of_two_sentences_has_its_trigger(graph: Graph) -> None:
    (edge,) = [e for e in graph.edges if e["kind"] == "shared entity" and set(e["sent"]) == {"film", "man"}]
    assert edge["trig"] == ["Hans Zimmer"]
    assert edge["src"] == ["Interstellar", "Hans Zimmer"]


def test_every_form_holds_the_same(graph: Graph) -> None:
    assert json.loads(graph.to_json()) == graph.to_dict()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    tree = ET.fromstring(graph.to_graphml())  # noqa: S314
    assert len(tree.findall(f".//{space}node")) == len(graph.nodes)
    assert len(tree.findall(f".//{space}edge")) == len(graph.edges)
    assert graph.to_dot().count(" -- ") == len(graph.edges)
    networkx = pytest.importorskip("networkx")
    made = graph.to_networkx()
    assert isinstance(made, networkx.MultiGraph)
    assert (made.number_of_nodes(), made.number_of_edges()) == (len(graph.nodes), len(graph.edges))


def test_what_xml_cannot_hold_is_replaced() -> None:
    odd = Candidate("odd\x00<&>", 'Hans Zimmer said "\x07\ud83d".', "Hans Zimmer")
    text = Graph.from_evidence(evidence_of((FILM, MAN, odd))).to_graphml()
    ET.fromstring(text)  # noqa: S314
    assert "\x07" not in text


def test_in_document_mode_sentences_have_their_place_in_their_names() -> None:
    long = replace(POOL[1], text=f"{MAN.text} He plays the organ.")
    graph = Graph.from_evidence(evidence_of((FILM, long), mode="document"))
    assert {"sentence:man@0", "sentence:man@1"} <= {node["id"] for node in graph.nodes}
