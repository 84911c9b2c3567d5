"""The language model behind the real systems: it reads a small corpus by rule, over a loopback server.

What each system asks for is told apart by the words of its prompts.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pagerag.testing.chat import prompt_of

QUESTION = "Where was the director of Interstellar born?"
ANSWER = "London"
CORPUS = {
    "Interstellar": "Interstellar is a 2014 film that was directed by Christopher Nolan.",
    "Christopher Nolan": "Christopher Nolan is a film maker who was born in London.",
    "London": "London is the capital of the United Kingdom and lies on the Thames.",
    "Interstellar Records": "Interstellar Records is a label that was founded in Berlin.",
    "Berlin": "Berlin is the capital of Germany and was divided for decades.",
    "Hans Zimmer": "Hans Zimmer composed the music of Interstellar and was born in Frankfurt.",
    "Frankfurt": "Frankfurt is a city in Germany where Hans Zimmer was born.",
    "Kip Thorne": "Kip Thorne is a physicist who advised the makers of Interstellar.",
}
TITLES = sorted(CORPUS, key=len, reverse=True)


def entities(text: str) -> list[str]:
    """The corpus's titles that the text names, longest first, none inside another."""
    found, rest = [], text
    for title in TITLES:
        if re.search(rf"\b{re.escape(title)}\b", rest):
            found.append(title)
            rest = rest.replace(title, " ")
    return sorted(found, key=text.index)


def facts(text: str) -> list[tuple[str, str, str]]:
    """The first name of the text is related to each of the others, in the words between them."""
    names = entities(text)
    return [(names[0], _between(text, names[0], other), other) for other in names[1:]] if names else []


def _between(text: str, head: str, tail: str) -> str:
    words = text[text.index(head) + len(head) : text.index(tail)].split()
    return " ".join(words[-4:]) or "related to"


def script(request: dict[str, Any]) -> str:
    """The reply to any prompt of LightRAG, GraphRAG or HippoRAG."""
    prompt = prompt_of(request)
    last = str(request["messages"][-1].get("content") or "")
    if "high_level_keywords" in prompt:
        return json.dumps({"high_level_keywords": ["birthplace"], "low_level_keywords": entities(QUESTION)})
    if "<|#|>" in prompt or "---Input Text---" in prompt:
        return _lightrag(last.rpartition("---Input Text---")[2])
    if '("entity"<|>' in prompt:
        return _graphrag(last.rpartition("Text:")[2])
    if "fact_before_filter" in prompt:
        return _filter(last)
    if "named_entities" in prompt and "triples" in prompt:
        return json.dumps({"triples": [list(fact) for fact in facts(_paragraph(last))]})
    if "named_entities" in prompt:
        return json.dumps({"named_entities": entities(_paragraph(last))})
    if "Thought:" in last:
        return f"Thought: it is stated. Answer: {ANSWER}."
    return ANSWER


def _lightrag(text: str) -> str:
    rows = [f"entity<|#|>{name}<|#|>thing<|#|>{name} is named in the text." for name in entities(text)]
    rows += [f"relation<|#|>{h}<|#|>{t}<|#|>{r}<|#|>{h} {r} {t}." for h, r, t in facts(text)]
    return "\n".join([*rows, "<|COMPLETE|>"])


def _graphrag(text: str) -> str:
    rows = [f'("entity"<|>{name.upper()}<|>THING<|>{name} is named in the text.)' for name in entities(text)]
    rows += [f'("relationship"<|>{h.upper()}<|>{t.upper()}<|>{h} {r} {t}.<|>7)' for h, r, t in facts(text)]
    return "\n##\n".join(rows) + "\n<|COMPLETE|>"


def _paragraph(prompt: str) -> str:
    """The paragraph to read: what stands between fences where there are any, and else all of it."""
    parts = prompt.split("```")
    return parts[1] if len(parts) > 2 else prompt


def _filter(prompt: str) -> str:
    """Two facts survive: HippoRAG's own assertion fails on a fact whose scaled weight is zero."""
    found = re.search(r"\{.*\}", prompt, re.DOTALL)
    before = json.loads(found[0]).get("fact", []) if found else []
    return "[[ ## fact_after_filter ## ]]\n" + json.dumps({"fact": before[:2]}) + "\n[[ ## completed ## ]]"
