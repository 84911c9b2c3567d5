"""Every constant of the method, in one frozen object per mode. Tuned on train files by ``pagerag tune``."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from pagerag.errors import WeightsError
from pagerag.units import Mode

__all__ = ["ABLATIONS", "Weights"]


def _weight(default: float, low: float, high: float, doc: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "doc": doc})


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of Sections 3.3-3.4 and Appendix A, under the paper's names where it has one.

    ``Weights.shipped(mode)`` has the tuned values; ``Weights.load(path)`` reads JSON or TOML.
    """

    # A.2 relevance and seeds
    w_lex: float = _weight(0.2, 0, 2, "w_l: weight of Lex(q, s) in sent_rel")
    w_ent: float = _weight(0.1, 0, 2, "w_e: weight of ent_overlap(q, s) in sent_rel")
    w_ret: float = _weight(0.51, 0, 2, "weight of the retriever's own normalised score in sent_rel")
    w_vec: float = _weight(0.0, 0, 2, "weight of the vector similarity in sent_rel, where vectors are given")
    w_sup: float = _weight(
        0.0, 0, 4, "weight of a support encoder's judgement in sent_rel, where one is given"
    )
    lit_cap: float = _weight(0.54, 0, 1, "τ_lit: bound of the literal-entity bonus")
    lit_step: float = _weight(0.15, 0, 1, "λ_lit: bonus per question entity found literally")
    rel_boost: float = _weight(0.3, 0, 1, "bonus per shared relation cue (soft relation intent)")
    title_boost: float = _weight(0.34, 0, 1, "bonus when the question names the unit's document")
    lead_boost: float = _weight(
        0.1, 0, 1, "bonus of a document's opening sentence, which says what it is about"
    )
    kind_boost: float = _weight(0.1, 0, 1, "bonus of a sentence that holds the kind of answer asked for")
    # A.3 metadata
    conf_base: float = _weight(0.4, 0, 1, "b0: confidence of a shared-entity edge with no trigger")
    conf_step: float = _weight(0.2, 0, 1, "b1: confidence per trigger")
    div_step: float = _weight(0.5, 0, 1, "ρ: diversity per source beyond the first")
    adj_spec: float = _weight(0.3, 0, 1, "spec of an adjacent edge (it has no trigger)")
    adj_hub: float = _weight(0.1, 0, 1, "hub of an adjacent edge")
    adj_noise: float = _weight(0.1, 0, 1, "noise of an adjacent edge")
    rel_spec: float = _weight(0.6, 0, 1, "spec of a relation edge")
    rel_hub: float = _weight(0.1, 0, 1, "hub of a relation edge")
    noise_spec: float = _weight(0.4, 0, 1, "ξ_s: noise of low specificity")
    noise_conf: float = _weight(0.3, 0, 1, "ξ_c: noise of low confidence")
    noise_div: float = _weight(0.3, 0, 1, "ξ_d: noise of a single source")
    low_spec: float = _weight(0.5, 0, 1, "τ_s: specificity below this is low")
    low_conf: float = _weight(0.5, 0, 1, "τ_c: confidence below this is low")
    rel_div: float = _weight(0.4, 0, 1, "λ_d: weight of diversity in reliability")
    rel_conf: float = _weight(0.6, 0, 1, "λ_c: weight of confidence in reliability")
    # A.4 edges and paths
    alpha: float = _weight(0.4, 0, 3, "α: edge relevance")
    beta: float = _weight(0.15, 0, 3, "β: edge reliability")
    gamma: float = _weight(0.2, 0, 3, "γ: specificity")
    delta: float = _weight(0.63, 0, 3, "δ: hubness")
    eta: float = _weight(0.2, 0, 3, "η: noise")
    query_edge: float = _weight(0.1, 0, 2, "boost of an edge whose trigger the question names")
    query_hub: float = _weight(0.5, 0, 1, "how much of the hub penalty such an edge is spared")
    name_edge: float = _weight(0.34, 0, 2, "boost of an edge along which one unit names the other's document")
    coh: float = _weight(0.56, 0, 3, "λ_coh: path coherence")
    coh_ent: float = _weight(0.5, 0, 1, "ω_e: entity overlap in pair coherence")
    coh_lex: float = _weight(0.5, 0, 1, "ω_l: lexical overlap in pair coherence")
    length: float = _weight(0.21, 0, 1, "μ: cost of each edge after the first (standard mode)")
    hop_bonus: float = _weight(0.1, 0, 1, "μ_p: bonus per edge up to two (paragraph mode)")
    path_cover: float = _weight(1.64, 0, 3, "question words that the path covers as a whole, by idf")
    path_cues: float = _weight(0.2, 0, 3, "relations of the question that the path signals as a whole")
    bridge: float = _weight(0.2, 0, 1, "bonus of a path that bridges from a question entity to a relation")
    # 3.5, A.6 aggregation to documents
    d_best: float = _weight(1.0, 0, 3, "document score: its best sentence")
    d_mean: float = _weight(0.2, 0, 3, "document score: the mean of its sentences")
    d_cover: float = _weight(
        0.4, 0, 3, "document score: question words covered by the whole document, by idf"
    )
    d_title: float = _weight(0.3, 0, 3, "document score: title-question overlap")
    d_ret: float = _weight(0.5, 0, 3, "document score: the retriever's own score")
    d_length: float = _weight(0.05, 0, 1, "document score: penalty of length")
    # 3.4, A.5 selection
    u_path: float = _weight(0.5, 0, 3, "Δsupport: the path's own score")
    u_cover: float = _weight(1.26, 0, 3, "Δsupport: newly covered question words, by idf")
    u_entity: float = _weight(0.7, 0, 3, "Δsupport: newly covered question entities")
    u_source: float = _weight(0.64, 0, 2, "Δsupport: a new document")
    u_link: float = _weight(1.08, 0, 2, "Δsupport: the path touches what is already selected")
    c_unit: float = _weight(0.4, 0, 3, "Δcost: each new unit")
    c_overlap: float = _weight(0.63, 0, 3, "Δcost: words repeated from what is selected")
    c_noise: float = _weight(0.2, 0, 2, "Δcost: mean noise of the path's edges")
    c_aside: float = _weight(
        1.5, 0, 3, "Δcost: in a comparison, each new unit that is not the first of something compared"
    )
    enough: float = _weight(0.75, 0, 2, "support at which the state is Enough")
    some: float = _weight(0.45, 0, 1, "support under which the state is insufficient")
    patience: float = _weight(0.1, 0, 1, "utility a provisional bridge may lack for one step")

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise WeightsError(f"weight {item.name!r} must be a finite number, not {value!r}")
            low, high = item.metadata["low"], item.metadata["high"]
            if not low <= value <= high:
                raise WeightsError(f"weight {item.name!r} is {value}; it must lie in [{low}, {high}]")

    @classmethod
    def shipped(cls, mode: Mode = "sentence") -> Weights:
        """Return the tuned weights for ``mode``."""
        return _shipped(mode)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Weights:
        """Read weights from a JSON or TOML file that has every field and no other."""
        import tomllib  # two milliseconds that importing pagerag need not take

        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            body = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
        except OSError as missing:
            raise WeightsError(f"cannot read weights {file}: {missing.strerror}") from missing
        except ValueError as broken:
            raise WeightsError(f"{file} is neither valid JSON nor TOML: {broken}") from broken
        return cls.from_dict(body, name=str(file))

    @classmethod
    def from_dict(cls, body: object, *, name: str = "weights") -> Weights:
        """Make weights from a mapping with every field and no other."""
        if not isinstance(body, dict):
            raise WeightsError(f"{name} must hold one table of weights, not {type(body).__name__}")
        body = {key: value for key, value in body.items() if not str(key).startswith("_")}
        known = {item.name for item in fields(cls)}
        unknown, missing = sorted(set(body) - known), sorted(known - set(body))
        if unknown or missing:
            said = [f"unknown: {', '.join(map(str, unknown))}"] if unknown else []
            said += [f"missing: {', '.join(missing)}"] if missing else []
            raise WeightsError(
                f"{name} has wrong fields ({'; '.join(said)}); start from Weights.shipped(mode).to_dict()"
            )
        return cls(**body)

    def to_dict(self) -> dict[str, float]:
        """Return every weight by name."""
        return asdict(self)

    def but(self, **changes: float) -> Weights:
        """Return a copy with some weights changed."""
        return replace(self, **changes)

    def ablate(self, *groups: str) -> Weights:
        """Return a copy without the signals of the named groups of the paper's Table of feature groups."""
        off: dict[str, float] = {}
        for group in groups:
            if group not in ABLATIONS:
                raise WeightsError(f"unknown feature group {group!r}; one of: {', '.join(sorted(ABLATIONS))}")
            off.update(dict.fromkeys(ABLATIONS[group], 0.0))
        return replace(self, **off)


ABLATIONS: dict[str, tuple[str, ...]] = {
    "query_alignment": (
        "w_lex", "w_ent", "w_ret", "w_vec", "w_sup", "alpha", "lit_cap", "rel_boost", "title_boost",
        "kind_boost", "query_edge", "bridge", "path_cover", "path_cues", "u_cover", "u_entity",
    ),
    "provenance_reliability": ("beta", "rel_div", "rel_conf", "noise_conf", "noise_div", "u_source"),
    "bridge_specificity": ("gamma", "delta", "query_hub", "noise_spec", "adj_spec", "adj_hub"),
    "path_quality": ("eta", "coh", "length", "hop_bonus", "c_noise", "adj_noise"),
}  # fmt: skip
"""The feature groups of Appendix B, by the weights that carry them."""


@cache
def _shipped(mode: Mode) -> Weights:
    source = Path(__file__).with_name("data") / f"weights-{mode}.json"
    return Weights.from_dict(json.loads(source.read_text(encoding="utf-8")), name=f"weights-{mode}.json")
