"""From a promotion to scores that every client can sort by and compare with a threshold."""

from __future__ import annotations

from collections.abc import Sequence

from pagerag.promotion import Promoter, Promotion
from pagerag.serve.dialects import Ranked, RequestDocument, RerankRequest
from pagerag.units import Candidate

STEP = 1e-6
"""The least distance between two scores: seen by clients that keep single precision."""


def rank(promoter: Promoter, request: RerankRequest, k: int) -> tuple[list[Ranked], Promotion | None]:
    """Return every document best first, the promoted set in front, and the promotion it comes from.

    Documents without text cannot be promoted: they come last. ``k`` is the size of the promoted set where the
    request does not say how many it wants.
    """
    told = [place for place, document in enumerate(request.documents) if document.text.strip()]
    silent = [place for place, document in enumerate(request.documents) if not document.text.strip()]
    promotion = None
    order: list[int] = []
    scores: list[float] = []
    if told:
        documents = [request.documents[place] for place in told]
        promotion = promote_documents(promoter, request.query, documents, request.top_n or k)
        order = [told[place] for place in promotion.ranking]
        scores = promotion.scores[list(promotion.ranking)].tolist()
    scores = falling([*scores, *[0.0] * len(silent)])
    return [Ranked(*pair) for pair in zip([*order, *silent], scores, strict=True)], promotion


def promote_documents(
    promoter: Promoter, question: str, documents: Sequence[RequestDocument], k: int
) -> Promotion:
    """Promote the documents of a request, each judged by its sentences; a document's id is its place."""
    pool = [
        Candidate(id=str(place), text=document.text, title=document.title, source=document.source)
        for place, document in enumerate(documents)
    ]
    return promoter.promote(question, pool, k=max(1, min(k, len(pool))), mode="document")


def falling(scores: Sequence[float]) -> list[float]:
    """Return scores in [0, 1] that fall strictly in the given order and stay as near to ``scores`` as can be.

    The promoted set comes in the order of its argument, which is not always that of its scores. Where a later
    score is higher, both become their mean (the least-squares monotone fit), so that a threshold keeps its
    meaning; then equal scores are set ``STEP`` apart.
    """
    blocks: list[list[float]] = []  # [sum, count]
    for score in scores:
        blocks.append([min(max(score, 0.0), 1.0), 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] < blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    fitted = [total / count for total, count in blocks for _ in range(int(count))]
    step = min(STEP, 1.0 / max(len(fitted), 1))
    last = len(fitted) - 1
    result: list[float] = []
    bound = 1.0
    for place, value in enumerate(fitted):
        score = max(min(value, bound), (last - place) * step)
        result.append(score)
        bound = score - step
    return result
