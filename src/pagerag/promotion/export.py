"""The query-local graph as a graph (A.1): three kinds of nodes, five kinds of edges, m(e) on every edge."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from pagerag._extras import need
from pagerag.promotion import score
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.trace import edge_between, sentence_id, sentence_text

__all__ = ["Graph"]

_SHAPES = {"document": "box", "sentence": "note", "entity": "ellipse"}


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges as plain dictionaries; write it as JSON, DOT, GraphML or NetworkX."""

    nodes: tuple[dict[str, Any], ...]
    edges: tuple[dict[str, Any], ...]

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Graph:
        """Draw the graph of a promoted pool."""
        reading = evidence.reading
        nodes: list[dict[str, Any]] = []
        edges: list[dict[str, Any]] = []
        documents: dict[int, str] = {}
        for node in range(len(reading)):
            unit = reading.candidates[int(reading.unit[node])]
            document = int(reading.document[node])
            name = sentence_id(evidence, node)
            if document not in documents:
                documents[document] = f"document:{unit.document}"
                nodes.append(
                    {"id": documents[document], "kind": "document", "label": unit.title or unit.document}
                )
            nodes.append(
                {
                    "id": f"sentence:{name}",
                    "kind": "sentence",
                    "label": sentence_text(evidence, node),
                    "unit": unit.id,
                    "relevance": round(float(evidence.relevance[node]), 4),
                    "seed": round(float(evidence.seeds[node]), 4),
                }
            )
            edges.append(
                _anchor("contains", documents[document], f"sentence:{name}", unit.document, name, unit.title)
            )
        used = np.nonzero(evidence.links.df > 0)[0].tolist()
        nodes += [
            {
                "id": f"entity:{reading.keys[t]}",
                "kind": "entity",
                "label": reading.names[t],
                "df": int(evidence.links.df[t]),
                "idf": round(float(evidence.links.idf[t]), 4),
                "asked": bool(reading.asked[t]),
            }
            for t in used
        ]
        for node, t in np.argwhere(reading.entity > 0).tolist():
            unit = reading.candidates[int(reading.unit[node])]
            name = sentence_id(evidence, node)
            edges.append(
                _anchor(
                    "mention",
                    f"sentence:{name}",
                    f"entity:{reading.keys[t]}",
                    unit.document,
                    name,
                    reading.names[t],
                )
            )
        for node, key, name in reading.singles():
            unit = reading.candidates[int(reading.unit[node])]
            sentence = sentence_id(evidence, node)
            nodes.append(
                {
                    "id": f"entity:{key}",
                    "kind": "entity",
                    "label": name,
                    "df": 1,
                    "idf": round(float(score.idf(1, len(reading))), 4),
                    "asked": False,
                }
            )
            edges.append(
                _anchor("mention", f"sentence:{sentence}", f"entity:{key}", unit.document, sentence, name)
            )
        for head, tail, relation, stated in reading.stated:
            units = [reading.candidates[int(reading.unit[node])] for node in stated]
            edges.append(
                {
                    "kind": "relation",
                    "from": f"entity:{reading.keys[head]}",
                    "to": f"entity:{reading.keys[tail]}",
                    "src": list(dict.fromkeys(unit.document for unit in units)),
                    "sent": [sentence_id(evidence, node) for node in stated],
                    "trig": [relation.relation],
                    "conf": float(relation.confidence),
                    "div": 0.0,
                    "spec": evidence.weights.rel_spec,
                    "hub": evidence.weights.rel_hub,
                }
            )
        for i, j in np.argwhere(np.triu(np.isfinite(evidence.links.score), 1)).tolist():
            edge = edge_between(evidence, i, j).to_dict()
            ends = {"from": f"sentence:{edge['sent'][0]}", "to": f"sentence:{edge['sent'][1]}"}
            edges.append({**edge, **ends})
        return cls(tuple(nodes), tuple(edges))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able nodes and edges."""
        return {"version": 1, "nodes": [dict(n) for n in self.nodes], "edges": [dict(e) for e in self.edges]}

    def to_json(self) -> str:
        """Return ``to_dict`` as text."""
        return json.dumps(self.to_dict(), indent=1)

    def to_dot(self) -> str:
        """Return Graphviz source."""
        lines = ["graph pagerag {", "  graph [overlap=false];", "  node [fontsize=10];"]
        for node in self.nodes:
            label = json.dumps(_short(node["label"]))
            lines.append(f"  {json.dumps(node['id'])} [label={label}, shape={_SHAPES[node['kind']]}];")
        for edge in self.edges:
            label = json.dumps(_short(", ".join(edge["trig"]), 40) if edge["kind"] != "contains" else "")
            lines.append(
                f"  {json.dumps(edge['from'])} -- {json.dumps(edge['to'])} "
                f"[label={label}, tooltip={json.dumps(edge['kind'])}];"
            )
        return "\n".join([*lines, "}"]) + "\n"

    def to_graphml(self) -> str:
        """Return GraphML text; lists become strings joined by " | "."""
        node_keys = sorted({key for node in self.nodes for key in node if key != "id"})
        edge_keys = sorted({key for edge in self.edges for key in edge if key not in {"from", "to"}})
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        ]
        for place, keys in (("node", node_keys), ("edge", edge_keys)):
            owners = self.nodes if place == "node" else self.edges
            for key in keys:
                kind = _xml_type(next(owner[key] for owner in owners if key in owner))
                name = f"{place}-{key}"
                lines.append(f'  <key id="{name}" for="{place}" attr.name="{key}" attr.type="{kind}"/>')
        lines.append('  <graph edgedefault="undirected">')
        for node in self.nodes:
            lines.append(f"    <node id={_attr(node['id'])}>")
            lines += [
                f'      <data key="node-{key}">{_xml(node[key])}</data>' for key in node_keys if key in node
            ]
            lines.append("    </node>")
        for edge in self.edges:
            lines.append(f"    <edge source={_attr(edge['from'])} target={_attr(edge['to'])}>")
            lines += [
                f'      <data key="edge-{key}">{_xml(edge[key])}</data>' for key in edge_keys if key in edge
            ]
            lines.append("    </edge>")
        return "\n".join([*lines, "  </graph>", "</graphml>"]) + "\n"

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiGraph`` with the same attributes."""
        networkx = need("networkx", "networkx", "networkx", "the graph as a NetworkX object")
        graph = networkx.MultiGraph()
        for node in self.nodes:
            graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
        for edge in self.edges:
            graph.add_edge(
                edge["from"], edge["to"], **{k: v for k, v in edge.items() if k not in {"from", "to"}}
            )
        return graph


def _anchor(
    kind: str, start: str, end: str, source: str, sentence: str, trigger: str | None
) -> dict[str, Any]:
    """Anchor a sentence to its source and its names by contains and mention edges; their confidence is 1."""
    return {
        "kind": kind, "from": start, "to": end, "src": [source], "sent": [sentence],
        "trig": [trigger] if trigger else [], "conf": 1.0, "div": 0.0, "spec": 0.0, "hub": 0.0,
    }  # fmt: skip


def _short(text: str, most: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _xml_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "int"
    return "double" if isinstance(value, float) else "string"


def _xml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = " | ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _escape(text)


def _attr(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    cleaned = _clean(text)
    return cleaned.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _clean(text: str) -> str:
    """Drop what XML has no place for: control characters, and half of a surrogate pair."""
    return "".join(
        char
        if char in "\t\n\r" or (" " <= char < "\ud800") or "\ue000" <= char <= "\ufffd" or char > "\uffff"
        else "�"
        for char in text
    )
