"""Reading text: tokens, sentences, entities, relation cues, terms, names and title keys. NumPy alone.

``Analyzer`` makes the Analysis of a unit that promotion works on. ``terms`` are what lexical search counts,
``title_keys`` what documents are looked up by, and ``read_names`` finds such names in running text.
"""

from pagerag.text.analysis import Analysis, Analyzer, SentenceFlag
from pagerag.text.entities import extract_entities
from pagerag.text.questions import Question, read_question
from pagerag.text.sentences import split_sentences
from pagerag.text.terms import encoded_text
from pagerag.text.tokens import tokenize

__all__ = [
    "Analysis",
    "Analyzer",
    "Question",
    "SentenceFlag",
    "encoded_text",
    "extract_entities",
    "read_question",
    "split_sentences",
    "tokenize",
]
