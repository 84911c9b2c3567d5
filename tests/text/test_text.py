"""Tokens, sentences, entities, questions: any script, any rubbish."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.errors import FormatError
from pagerag.text import Analysis, Analyzer, extract_entities, read_question, split_sentences, tokenize
from pagerag.text.analysis import VERSION
from pagerag.text.entities import name_key
from pagerag.text.extractors import GlinerExtractor, SpacyExtractor
from pagerag.text.gazetteer import Gazetteer, is_numbered, title_entities
from pagerag.text.questions import relation_mask
from pagerag.text.tokens import all_words

SCRIPTS = {
    "Latin": ("Das Schloss steht in Wien.", ["das", "schloss", "steht", "wien"]),
    "Cyrillic": ("Москва — столица России.", ["москва", "столица", "россии"]),
    "Greek": ("Η Αθήνα είναι πρωτεύουσα.", ["η", "αθηνα", "ειναι", "πρωτευουσα"]),
    "Arabic": ("القاهرة عاصمة مصر", ["القاهرة", "عاصمة", "مصر"]),
    "Devanagari": ("दिल्ली भारत की राजधानी है", ["दिल्ली", "भारत", "की", "राजधानी", "है"]),
    "Han": ("北京是首都", ["北京", "京是", "是首", "首都"]),
    "Kana": ("とうきょう", ["とう", "うき", "きょ", "ょう"]),
    "Hangul": ("서울은 수도이다", ["서울은", "수도이다"]),
    "Thai": ("กรุงเทพ", None),
    "mixed": ("Tokyo 東京 2020", ["tokyo", "東京", "2020"]),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_script_collapses(script: str) -> None:
    text, expected = SCRIPTS[script]
    tokens = tokenize(text)
    assert tokens
    if expected is not None:
        assert tokens == [token for token in expected]  # noqa: C416


def test_stop_words_go_unless_nothing_would_be_left() -> None:
    assert tokenize("The founder of the city") == ["founder", "city"]
    assert tokenize("The Who") == ["the", "who"]


def test_accents_and_case_are_folded() -> None:
    assert tokenize("Beyoncé STRASSE Straße") == ["beyonce", "strasse", "strasse"]


@given(st.text(max_size=300))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    tokenize(text)
    extract_entities(text)
    read_question(text)
    analysis = Analyzer().analyze(text)
    assert Analysis.from_bytes(analysis.to_bytes()) == analysis


@given(st.text(alphabet="ab .!?\n\"')A。？", max_size=120))
def test_sentences_cover_everything_once_and_in_order(text: str) -> None:
    spans = split_sentences(text)
    end = 0
    for start, stop in spans:
        assert end <= start < stop <= len(text)
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. J. Smith of the U.S. Army met Mrs. Jones. They talked.", 2),
        ("It costs 3.5 million. Really? Yes!", 3),
        ('He said "Go." Then he left.', 2),
        ("他来了。她走了！", 2),
        ("यह पहला है। यह दूसरा है।", 2),
        ("A heading\n\nA paragraph follows here", 2),
        ("no stop at all", 1),
        ("", 0),
    ],
)
def test_sentence_counts(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Hans Zimmer wrote the score of Interstellar.", ["Hans Zimmer", "Interstellar"]),
        ("The Lord of the Rings was filmed in New Zealand.", ["The Lord of the Rings", "New Zealand"]),
        ("Directed by Agnès Varda in 1962.", ["Agnès Varda", "1962"]),
        ('She sang "Both Sides Now" twice.', ["She", "Both Sides Now"]),
        ("Raja Lumu bin Daeng Chelak ruled.", ["Raja Lumu bin Daeng Chelak", "Raja Lumu", "Daeng Chelak"]),
        ("Лев Толстой написал роман.", ["Лев Толстой"]),
        ("nothing is capitalised here", []),
    ],
)
def test_entities(text: str, names: list[str]) -> None:
    found = [name for name in extract_entities(text) if name_key(name)]
    assert found == [name for name in names if name_key(name)]


def test_question_forms() -> None:
    assert read_question("Which city was the composer of Interstellar born in?").form == "bridge"
    assert read_question("Who is older, Annie Morton or Terry Richardson?").form == "comparison"
    assert read_question("Were Scott Derrickson and Ed Wood of the same nationality?").form == "yes-no"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who founded the museum?", "person"),
        ("When did the mosque open?", "date"),
        ("In what year was it built?", "date"),
        ("Which country borders it?", "place"),
        ("How many people live there?", "number"),
        ("Is it older than the church?", "yes-no"),
        ("What does it mean?", "entity"),
    ],
)
def test_answer_types(question: str, kind: str) -> None:
    assert read_question(question).answer == kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which film came out first, Red Harbour or Slow Water?", "date"),
        ("Who lived longer, Ada Quill or Bram Oster?", "date"),
        ("Was Ada Quill or Bram Oster born first?", "date"),
        ("Which film has more directors, Red Harbour or Slow Water?", ""),
        ("Are Red Harbour and Slow Water from the same country?", ""),
        ("Who was the first director of Red Harbour?", ""),
    ],
)
def test_what_a_comparison_weighs(question: str, kind: str) -> None:
    assert read_question(question).weighed == kind


@pytest.mark.parametrize(
    ("question", "near", "target"),
    [
        ("What is the place of birth of the director of film Polar Night?", "director", "birth"),
        ("When did Ada Brandt's father die?", "father", "die"),
        ("Which country is the author of Salt and Iron from?", "author", "country"),
        ("Who founded Norfjord Airways?", "founded", "founded"),
        # "King" belongs to the name, and says nothing of it
        ("Who is the wife of King Harald Bluetooth?", "wife", "wife"),
    ],
)
def test_the_relation_said_of_the_name_comes_before_the_one_asked_for(
    question: str, near: str, target: str
) -> None:
    read = read_question(question)
    assert (read.near, read.target) == (relation_mask([near]), relation_mask([target]))


def test_a_question_without_relation_words_has_neither() -> None:
    read = read_question("Is Lake Vann deeper than Lake Orr?")
    assert (read.near, read.target) == (0, 0)


def test_the_gazetteer_resolves_only_what_is_certain() -> None:
    names = Gazetteer(
        ["hans zimmer", "christopher nolan", "jonathan nolan", "united nations"],
        ["ennio morricone", "morricone", "zimmer", "nolan", "un"],
        ["un"],
    )
    assert names.resolve("zimmer", "Zimmer") == "hans zimmer"
    assert names.resolve("nolan", "Nolan") == "nolan"  # two of them
    assert names.resolve("un", "UN") == "united nations"
    assert names.resolve("un", "un") == "un"  # not written as an acronym
    assert names.resolve("morricone", "Morricone") == "ennio morricone"


def test_the_number_of_a_chapter_is_no_name_of_its_title() -> None:
    mentions = ["10", "upgrading checklist", "5.2"]
    titles = ["10 upgrading checklist", "5.2 appointment"]
    names = Gazetteer(titles, mentions, numbered=titles)
    assert [names.resolve(name, name) for name in mentions] == ["10", "10 upgrading checklist", "5.2"]
    assert Gazetteer(["12 angry men"], ["12"]).resolve("12", "12") == "12 angry men"
    numbered = ["10. Upgrading checklist", "5.2. Appointment", "3) Glazes", "7.1 Kilns"]
    assert all(map(is_numbered, numbered))
    others = ["1984", "2012 (film)", "(500) Days of Summer", "12 Angry Men", "10.5", "3.14", "A. Smith", ""]
    assert not any(map(is_numbered, others))


@pytest.mark.parametrize("sign", ["", " (§ 7)"])
def test_a_name_ends_with_its_line_whatever_letters_the_text_has(sign: str) -> None:
    found = extract_entities(f"together with the Secretary\nAs detailed in New York{sign}")
    assert found == ["Secretary", "New York"]


def test_title_entities_drop_what_tells_namesakes_apart() -> None:
    assert title_entities("Get Low (film)") == ("get low", "get low film")
    assert title_entities("(500) Days of Summer") == ("500 days summer", "500 days summer")


def test_a_callable_replaces_the_extractor() -> None:
    analysis = Analyzer(lambda text: ["everything"]).analyze("Hans Zimmer was here. So was I.")
    assert analysis.entities == (("everything",), ("everything",))


def test_a_long_unit_is_read_up_to_a_bound() -> None:
    analysis = Analyzer(max_characters=50).analyze("A sentence of words. " * 100)
    assert analysis.spans[-1][1] <= 50


def test_stored_analyses_of_another_version_or_broken_ones_are_refused() -> None:
    data = Analyzer().analyze("Hans Zimmer.").to_bytes()
    with pytest.raises(FormatError, match="version"):
        Analysis.from_bytes(data.replace(b"[%d," % VERSION, b"[99,", 1))
    with pytest.raises(FormatError, match="index the unit again"):
        Analysis.from_bytes(data[: len(data) // 2])


def test_real_spacy_fits_the_protocol() -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns(
        [{"label": "PERSON", "pattern": "hans zimmer"}, {"label": "CARDINAL", "pattern": "two"}]
    )
    analysis = Analyzer(SpacyExtractor(pipeline)).analyze("hans zimmer wrote two scores. It rained.")
    assert analysis.entities == (("hans zimmer",), ())


def test_gliner_style_models_fit_the_protocol() -> None:
    class Model:
        def predict_entities(self, text: str, labels: list[str], threshold: float) -> list[dict[str, object]]:
            assert "person" in labels
            assert threshold == 0.3
            return [{"text": "Interstellar", "start": 20}, {"text": "Hans Zimmer", "start": 0}]

    assert list(GlinerExtractor(Model(), threshold=0.3)("any")) == ["Hans Zimmer", "Interstellar"]


def test_words_of_plain_text_are_its_runs_of_letters_and_digits() -> None:
    text = "".join(map(chr, range(128))) + " The Who's 2nd_LP (1966), e.g. \tA-Z!"
    assert all_words(text) == re.findall("[a-z0-9]+", text.lower())


def test_dashes_and_quotes_part_words_in_every_text():
    """A text that is plain but for them is read on a shorter way, which gives the same words."""
    plain = "Lee’s “Film” of 1990–95—a ‘Classic’ by J. O’Neil"
    words = ["lee", "s", "film", "of", "1990", "95", "a", "classic", "by", "j", "o", "neil"]
    assert all_words(plain) == words
    assert all_words(f"{plain} é") == [*words, "e"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I install it?", True),
        ("why did the server stop", True),
        ("Explain the role of the broker.", True),
        ("What is the difference between a core and a context?", True),
        ("What does orphaning a package mean?", True),
        ("What happens when the disk is full?", True),
        ("How many members are there?", False),
        ("How long is the term?", False),
        ("How soon will I hear back?", False),
        ("Once it is built, how is it run?", True),
        ("What is the default port?", False),
        ("What is the boiling point of ethanol?", False),
        ("Who wrote the policy?", False),
    ],
)
def test_questions_that_are_told_at_length(question: str, expected: bool) -> None:
    from pagerag.text.questions import told_at_length

    assert told_at_length(read_question(question)) is expected
