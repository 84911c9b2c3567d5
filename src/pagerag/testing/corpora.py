"""A conformance check for corpora: one that passes it can stand behind every command and retriever."""

from __future__ import annotations

import multiprocessing
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from pagerag.errors import CandidateError, InputError, StoreError, StoreMismatchError
from pagerag.protocols import Corpus, Encoder, Snapshot
from pagerag.store.memory import MemoryCorpus
from pagerag.store.places import sentences_of
from pagerag.testing._check import ODD_TEXTS, Checker, in_threads
from pagerag.testing.fakes import FakeEncoder
from pagerag.text import Analyzer
from pagerag.text.keys import key_number, title_keys
from pagerag.units import Candidate, FileRecord, Unit

OpenCorpus = Callable[[Encoder], Corpus]
"""Opens the corpus that is checked, and makes it, empty, the first time it is called."""

TOP = 20
QUESTIONS = (
    "Which city was the composer of Interstellar born in?",
    "a river that flows through the city of banks",
    "film film film director",
    "日本の首都はどこですか",
    "Где находится Эрмитаж?",
    "the of and",
    "words that are nowhere: xyzzy plugh",
)

# One passage each in scripts that write words in different ways: cased and caseless, with and without spaces,
# from right to left, with signs above and below the letters.
LANGUAGES = {
    "Interstellar (film)": "Interstellar is a film of 2014. Hans Zimmer composed its music.",
    "Hans Zimmer": "Hans Zimmer is a composer. He was born in the city of Frankfurt am Main.",
    "Frankfurt": "Frankfurt is a city of banks. The river Main flows through it.",
    "Fred F. Sears": "Fred F. Sears was the director of many a film.",
    "東京": "東京は日本の首都です。人口は約1400万人です。",
    "서울": "서울은 대한민국의 수도이다. 한강이 흐른다.",
    "北京市": "北京是中国的首都。它有三千多年的历史。",
    "กรุงเทพมหานคร": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "القاهرة": "القاهرة هي عاصمة مصر. يمر بها نهر النيل.",
    "ירושלים": "ירושלים היא עיר הבירה של ישראל.",
    "नई दिल्ली": "नई दिल्ली भारत की राजधानी है। यमुना नदी यहाँ बहती है।",
    "ঢাকা": "ঢাকা বাংলাদেশের রাজধানী।",
    "சென்னை": "சென்னை தமிழ்நாட்டின் தலைநகரம் ஆகும்.",
    "Эрмитаж": "Эрмитаж находится в Санкт-Петербурге. Это музей.",
    "Λευκός Πύργος": "Ο Λευκός Πύργος βρίσκεται στη Θεσσαλονίκη.",
    "Երևան": "Երևանը Հայաստանի մայրաքաղաքն է։",
    "თბილისი": "თბილისი საქართველოს დედაქალაქია.",
    "Addis Abeba": "አዲስ አበባ የኢትዮጵያ ዋና ከተማ ናት።",
    "İstanbul": "İstanbul, Türkiye'nin en büyük şehridir. Işık ve ılık.",
    "Þingvellir": "Þingvellir er á Íslandi. Ærið mörg ör.",
    "Đà Nẵng": "Đà Nẵng là một thành phố biển của Việt Nam.",
    "Straße (Begriff)": "Die STRASSE und die Straße sind dasselbe Wort; ﬁne ligatures, Ｆｕｌｌ ｗｉｄｔｈ.",
    "💡": "An idea 💡 is shown as a bulb 👩‍🔬 by emoji.",
}


@cache
def _scripts(most: int = 100) -> list[tuple[str, str]]:
    """Return two words of each of the first scripts of Unicode that have letters for them."""
    letters: dict[str, list[str]] = {}
    for code in range(0x250, 0x13000):
        if unicodedata.category(chr(code)) in ("Lo", "Ll", "Lm"):
            letters.setdefault(unicodedata.name(chr(code)).partition(" ")[0], []).append(chr(code))
    enough = [found for found in letters.values() if len(found) >= 10][:most]
    return [("".join(found[:5]), "".join(found[5:10])) for found in enough]


def check_corpus(
    open_corpus: OpenCorpus,
    *,
    durable: bool = True,
    kills: int = 2,
    several_writers: bool = False,
    set_schema: Callable[[int], None] | None = None,
) -> None:
    """Check a corpus against the contract of ``pagerag.protocols.Corpus``.

    ``open_corpus`` is called several times, also by other processes where ``durable``: it must then be
    something that can be pickled (a function of a module, or ``functools.partial`` of one), and every call
    must open the same corpus. A writer is killed ``kills`` times. ``several_writers`` says that ``writing``
    lets several in. ``set_schema`` changes the schema version that the stored corpus tells of itself, so that
    opening one of another version can be checked.
    """
    encoder = FakeEncoder(64)
    check = Checker("check_corpus", open_corpus)
    with open_corpus(encoder) as corpus:
        _check_empty(check, corpus)
        _check_search(check, corpus, encoder)
        _check_units(check, corpus)
        _check_refusals(check, corpus)
        _check_writes(check, corpus, several_writers=several_writers)
        _check_snapshots(check, corpus)
        _check_readers_beside_a_writer(check, corpus)
    if durable:
        _check_durable(check, open_corpus, encoder)
        _check_writers(check, open_corpus, encoder)
        _check_kills(check, open_corpus, encoder, kills)
    if set_schema is not None:
        _check_schema(check, open_corpus, encoder, set_schema)


def _unit(number: int, title: str | None, text: str, source: str | None = None, **more: Any) -> Unit:
    analysis, name = Analyzer().analyze(text), source or f"{number}.txt"
    fields: dict[str, Any] = {"id": f"{name}#0", "source": name, "path": name, "end": len(text), **more}
    stored = analysis.to_bytes()
    return Unit(text=text, title=title, sentences=analysis.spans, digest="d", analysis=stored, **fields)


def _units() -> list[Unit]:
    texts = list(LANGUAGES.items())
    texts += [(f"Odd: {name}", text) for name, text in ODD_TEXTS.items() if "\ud83d" not in text]
    # Enough of the same words that ranking has to weigh them.
    some = ("film", "river", "city", "music", "bank", "star")
    for number in range(60):
        words = " ".join(some[k % 6] for k in range(number % 7 + 1))
        texts.append((f"Note {number}", f"Note {number} tells of {words} and of thing{number % 9}."))
    texts += [(word, f"{word} {other} {word}") for word, other in _scripts()]
    return [_unit(number, title, text) for number, (title, text) in enumerate(texts)]


def _check_empty(check: Checker, corpus: Corpus) -> None:
    check.expect(isinstance(corpus, Corpus), "it has every member of the protocol", type(corpus).__name__)
    check.equal(len(corpus), 0, "a corpus that was just made is empty")
    for question in QUESTIONS:
        check.expect(list(corpus.search_text(question)) == [], "an empty corpus finds nothing", question)
    check.expect(corpus.documents() == {} and corpus.ledger() == {}, "and holds no documents", "some")
    check.equal(list(corpus.verify()), [], "verify finds no damage")
    corpus.optimize()


def _check_search(check: Checker, corpus: Corpus, encoder: FakeEncoder) -> None:
    """Compare the rankings with those of the exact corpus in memory."""
    units, exact = _units(), MemoryCorpus((), encoder)
    for some in (units[:7], units[7:40], units[40:]):
        for one in (corpus, exact):
            check.equal(one.upsert(some), len(some), "upsert returns how many units it stored")
    _compare(check, corpus, exact, encoder)
    corpus.optimize()
    check.equal(corpus.pending(), 0, "nothing is pending after optimize")
    _compare(check, corpus, exact, encoder)


def _compare(check: Checker, corpus: Corpus, exact: MemoryCorpus, encoder: FakeEncoder) -> None:
    for question in (*QUESTIONS, *(f"{word} {other}" for word, other in _scripts())):
        found, want = corpus.search_text(question, TOP), exact.search_text(question, TOP)
        _same_ranking(check, f"text search for {question!r}", found, want, 1e-3)
        gap = max((abs((a.score or 0) - (b.score or 0)) for a, b in zip(found, want, strict=True)), default=0)
        check.expect(gap <= 1e-4, f"text search for {question!r}: exact, place by place", gap)
        vector = encoder.encode_queries([question])[0]
        found, want = corpus.search_vector(vector, TOP), exact.search_vector(vector, TOP)
        good = all(unit.vector is not None and unit.vector.shape == (64,) for unit in found)
        check.expect(good, "units that are found by vector carry theirs", question)
        _same_ranking(check, f"vector search for {question!r}", found, want, 0.01)
    with corpus.snapshot() as now:
        vectors = encoder.encode_queries(QUESTIONS[:2])
        text, near = now.rank_text(QUESTIONS[0], TOP), now.rank_vectors(vectors, TOP)
        together = now.rank_both(QUESTIONS[0], vectors, TOP)
    same = list(text) == list(together[0]) and list(map(list, near)) == list(map(list, together[1]))
    check.expect(same, "rank_both gives the two rankings", together)
    spelled = [(title, name) for title in LANGUAGES if title_keys(title) for name in (title, f" {title}! ")]
    spelled += [("Interstellar (film)", name) for name in ("interstellar", "INTERSTELLAR (Film)")]
    spelled += [("Fred F. Sears", "Fred Sears"), ("Þingvellir", "ÞINGVELLIR")]
    for title, name in spelled:
        titles = [unit.title for unit in corpus.lookup_title(name)]
        check.expect(title in titles, f"the title {title!r} is found as {name!r}", titles)
    asked = [*LANGUAGES, "", "!!", "no such title anywhere"]
    single = [_ids(corpus.lookup_title(title)) for title in asked]
    many = list(map(_ids, corpus.lookup_titles(asked)))
    check.equal(many, single, "many titles at once are the single look-ups")


def _ids(units: Iterable[Candidate | Unit]) -> list[str]:
    return [unit.id for unit in units]


def _same_ranking(
    check: Checker, what: str, found: Sequence[Candidate], want: Sequence[Candidate], off: float
) -> None:
    """Expect 95 % of what is wanted, where units with (nearly) the last score may stand for each other."""
    scores = [unit.score if unit.score is not None else float("nan") for unit in found]
    check.equal(scores, sorted(scores, reverse=True), f"{what}: best first, with scores")
    check.expect(len({unit.id for unit in found}) == len(found), f"{what}: no unit twice", len(found))
    check.equal(len(found), len(want), f"{what}: as many units as exact search finds")
    if want:
        floor = (want[-1].score or 0.0) - off
        good = sum(score >= floor for score in scores)
        check.expect(good >= 0.95 * len(want), f"{what}: the units of exact search", _ids(found))
        true = {unit.id: unit.score or 0.0 for unit in want}
        for unit in found:
            wanted, score = true.get(unit.id), unit.score or 0.0
            near = wanted is None or abs(score - wanted) <= off
            check.expect(near, f"{what}: the scores of exact search", (unit.id, score, wanted))


def _check_units(check: Checker, corpus: Corpus) -> None:
    before = _unit(
        900,
        'It\'s "quoted" (film)',
        "Alpha met Beta. They spoke of Gamma.",
        pages=(3, 4),
        start=100,
        end=136,
        ordinal=7,
        section="S'1",
        record="r",
        names=("Other Name",),
        fields={"year": 1999, "tag": "ü", "deep": {"a": [1, None]}},
    )
    corpus.upsert([before])
    (found,) = corpus.fetch([before.id])
    want = before.candidate()
    check.expect(replace(found, vector=None) == want, "what was stored comes back", found)
    check.expect(dict(found.metadata) == dict(want.metadata), "with its metadata", found.metadata)
    check.equal(_ids(corpus.lookup_title("OTHER name")), [before.id], "other names are found")
    (analysis,) = corpus.analyses([found])
    check.equal(analysis, Analyzer().analyze(before.text), "the stored analysis comes back")
    sentences = sentences_of(found)
    for sentence, read in zip(sentences, corpus.analyses(sentences), strict=True):
        good = read is not None and read.tokens == Analyzer().analyze(sentence.text).tokens
        check.expect(good, "sentences of a unit have their part of the analysis", read)
    strangers = [replace(found, id="nowhere"), replace(found, text="Something else.")]
    check.equal(list(corpus.analyses(strangers)), [None, None], "a strange unit has no analysis")
    ids = _ids(_units()[10:2:-1])
    check.equal(_ids(corpus.fetch(ids)), ids, "fetch keeps the order")
    check.call("fetch of an unknown id", lambda: corpus.fetch(["nowhere"]), (InputError,))
    stored = {unit.id: unit for unit in corpus.units()}
    good = len(stored) == len(corpus) and stored[before.id] == before
    check.expect(good, "units returns all that is stored, as it was stored", stored.get(before.id))
    corpus.delete([before.source])


def _check_refusals(check: Checker, corpus: Corpus) -> None:
    good = _unit(800, "Good", "A good unit.")
    vector = np.full(64, 0.125, dtype=np.float32)
    bad: dict[str, Unit] = {
        "a blank text": replace(good, id="b#0", text="  ", vector=vector),
        "half of a surrogate pair": replace(good, id="b#0", text="half \ud83d", vector=vector),
        "a vector of another size": replace(good, id="b#0", vector=vector[:3]),
        "a vector with NaN": replace(good, id="b#0", vector=vector * np.nan),
        "an id that comes twice": replace(good, text="Another.", vector=vector),
    }
    size = len(corpus)
    for what, unit in bad.items():
        check.refused(what, partial(corpus.upsert, [good, unit]), CandidateError)
        check.expect(len(corpus) == size, f"with {what} nothing of the call is stored", len(corpus) - size)
    injections = ("", "'; DROP TABLE units; --", "\0", '"', "a AND NOT (b OR", "w " * 50_000)
    for text in (*ODD_TEXTS.values(), *injections):
        check.call(f"text search for {text[:20]!r}", partial(corpus.search_text, text))
        check.call(f"look-up of {text[:20]!r}", partial(corpus.lookup_title, text))
    for odd in (np.ones(3), np.full(64, np.nan)):
        check.refused("an unusable vector", partial(corpus.search_vector, odd), InputError)
    check.expect(not corpus.search_text(QUESTIONS[0], 0), "k = 0 finds nothing", "something")


def _check_writes(check: Checker, corpus: Corpus, *, several_writers: bool) -> None:
    size = len(corpus)
    parts = [
        _unit(0, "Parts", f"Part {n} of it.", "parts", id=f"parts#{n}", position=n, total=3) for n in range(3)
    ]
    corpus.upsert(parts)
    check.equal(len(corpus) - size, 3, "new units are added")
    check.equal(corpus.documents()["parts"].units, 3, "documents count their units")
    order = [unit.position for unit in corpus.lookup_title("parts")]
    check.equal(order, [0, 1, 2], "units of a title come in reading order")
    corpus.upsert(parts[:1])
    check.equal(len(corpus) - size, 1, "an upsert replaces all units of its sources")
    corpus.upsert([], sources=["parts"])
    check.equal(len(corpus) - size, 0, "a source without new units is emptied")
    check.expect("parts" not in corpus.documents(), "and is no document any more", "it is")
    check.equal(corpus.upsert([]), 0, "storing nothing stores nothing")
    gone = _unit(1, "Gone", "Gone soon.", "gone"), _unit(2, "Gone", "Gone too.", "it's.txt")
    corpus.upsert(gone)
    count = corpus.delete(["gone", "it's.txt", "not there"])
    check.expect(count == 2 and not corpus.lookup_title("gone"), "delete returns how many units went", count)
    records = [FileRecord("b's.txt", "1", units=2), FileRecord("a.txt", "2", "duplicate", original="b's.txt")]
    corpus.acknowledge(records)
    corpus.acknowledge([FileRecord("a.txt", "3")])
    seen = list(corpus.ledger().values())
    check.equal(seen, [FileRecord("a.txt", "3"), records[0]], "the ledger holds the latest records")
    corpus.forget(["b's.txt"])
    check.equal(list(corpus.ledger()), ["a.txt"], "forget strikes records")
    stats = corpus.stats()
    check.expect(stats.units == len(corpus) and stats.files == 1, "stats count units and files", stats)
    check.equal(list(corpus.verify()), [], "verify finds no damage")
    with corpus.writing():
        if several_writers:
            check.call("a second writer", lambda: _enter(corpus.writing()))
        else:
            check.refused("a second writer", lambda: _enter(corpus.writing()), StoreError)


def _enter(opened: AbstractContextManager[object]) -> bool:
    with opened:
        return True


def _check_snapshots(check: Checker, corpus: Corpus) -> None:
    new = _unit(700, "Solaris", "Solaris is a novel about an ocean.")
    with corpus.snapshot() as before:
        size, version = len(before), before.version
        seen = _look(before)
        corpus.upsert([new])
        check.equal((len(before), before.version), (size, version), "a snapshot does not grow")
        check.equal(_look(before), seen, "a snapshot stays as it was")
        check.expect(not before.rank_text("solaris", 5), "and finds nothing newer", "it does")
    with corpus.snapshot() as after:
        check.expect(after.version > version, "versions grow with writes", after.version)
        (hit,) = after.rank_text("solaris", 5)
        check.expect(after.units([hit.row])[0].id == new.id, "the next snapshot sees what was written", hit)
    corpus.delete([new.source])


def _look(now: Snapshot) -> object:
    hits = now.rank_text("film river city", 10)
    names = now.rank_names(np.array([key_number("hans zimmer"), 5], dtype=np.int64), 3)
    return hits, names, _ids(now.units([hit.row for hit in hits]))


def _check_readers_beside_a_writer(check: Checker, corpus: Corpus) -> None:
    """Read from several threads while a document of several units is replaced again and again."""
    stop = threading.Event()
    mixed: list[object] = []

    def edition(number: int) -> list[Unit]:
        texts = [f"Shifting sand {part} edition{number}." for part in range(number % 3 + 2)]
        return [_unit(0, "Shifting", text, "s", id=f"s#{n}") for n, text in enumerate(texts)]

    def write() -> None:
        for number in range(25):
            corpus.upsert(edition(number))
        stop.set()

    def read() -> None:
        while not stop.is_set():
            found = [unit.text.split()[-1] for unit in corpus.search_text("shifting sand", 10)]
            if found and (len(set(found)) > 1 or len(found) != int(found[0][7:-1]) % 3 + 2):
                mixed.append(found)

    corpus.upsert(edition(0))
    writer = threading.Thread(target=write)
    writer.start()
    in_threads(read, 3)
    writer.join()
    check.expect(not mixed, "a reader sees all of an upsert or nothing of it", mixed[:1])
    corpus.delete(["s"])


def _check_durable(check: Checker, open_corpus: OpenCorpus, encoder: FakeEncoder) -> None:
    with open_corpus(encoder) as corpus:
        check.equal(len(corpus), len(_units()), "what was written is there in the next session")
        check.equal(list(corpus.ledger()), ["a.txt"], "and the ledger")
        check.equal((corpus.encoder_name, corpus.dimension), (encoder.name, 64), "and its encoder")
    for other in (FakeEncoder(64, name="another"), FakeEncoder(32)):
        check.refused("another encoder", partial(open_corpus, other), StoreMismatchError)


def _check_schema(
    check: Checker, open_corpus: OpenCorpus, encoder: FakeEncoder, set_schema: Callable[[int], None]
) -> None:
    with open_corpus(encoder) as corpus:
        version = corpus.stats().schema_version
    set_schema(version + 1)
    check.refused("a newer schema version", partial(open_corpus, encoder), StoreMismatchError)
    set_schema(version)
    with open_corpus(encoder) as corpus:
        check.expect(len(corpus) > 0, "and nothing of it was touched", len(corpus))


WRITERS, DOCUMENTS = 2, 8


def _check_writers(check: Checker, open_corpus: OpenCorpus, encoder: FakeEncoder) -> None:
    """Write from several processes at once: every document of each is there afterwards."""
    for writer in [_start(_write_some, open_corpus, number) for number in range(WRITERS)]:
        writer.join()
    with open_corpus(encoder) as corpus:
        want = {f"writer {writer} {n}" for writer in range(WRITERS) for n in range(DOCUMENTS)} | {"writers"}
        there = {source for source in corpus.documents() if source.startswith("writer")}
        check.expect(there == want, "several writers at once lose nothing", sorted(want - there))
        check.equal(list(corpus.verify()), [], "and damage nothing")
        corpus.delete(want)


def _start(target: Callable[..., None], *args: object) -> SpawnProcess:
    writer = multiprocessing.get_context("spawn").Process(target=target, args=args, daemon=True)
    writer.start()
    return writer


def _write_some(open_corpus: OpenCorpus, number: int) -> None:
    with open_corpus(FakeEncoder(64)) as corpus:
        for place in range(DOCUMENTS):
            for source in (f"writer {number} {place}", "writers"):  # one of its own, and one that both write
                corpus.upsert([_unit(0, source, f"Document {place} of writer {number}.", source)])


def _check_kills(check: Checker, open_corpus: OpenCorpus, encoder: FakeEncoder, kills: int) -> None:
    """Kill a process that writes, in the middle of it, and look for everything that it was told is stored."""
    stored: set[str] = set()
    for number in range(kills):
        ours, theirs = multiprocessing.Pipe()
        writer = _start(_write_for_ever, open_corpus, number, theirs)
        theirs.close()
        for _ in range(3 + 4 * number):
            stored.update(ours.recv())
        writer.kill()
        writer.join()
        try:
            while ours.poll():
                stored.update(ours.recv())
        except (EOFError, OSError):
            pass  # the last message was cut short
        with open_corpus(encoder) as corpus:
            there = _ids(corpus.fetch(sorted(stored)))
            check.expect(there == sorted(stored), "nothing that was stored is lost by a kill", len(there))
            check.equal(list(corpus.verify()), [], "and nothing is damaged")
            counts = {source: held.units for source, held in corpus.documents().items() if "kill" in source}
            check.expect(set(counts.values()) <= {5}, "no upsert is there in part", counts)
            with corpus.writing():
                corpus.upsert([_unit(0, None, "The next writer goes on.", "next.txt")])


def _write_for_ever(open_corpus: OpenCorpus, number: int, say: Connection) -> None:
    with open_corpus(FakeEncoder(64)) as corpus, corpus.writing():
        for batch in range(1_000_000):
            source = f"kill {number} {batch}"
            unit = _unit(0, source, f"Batch {batch} of writer {number}.", source)
            units = [replace(unit, id=f"{source}#{part}", position=part) for part in range(5)]
            corpus.upsert(units)
            say.send(_ids(units))
            if batch % 4 == 3:
                corpus.optimize(final=False)
