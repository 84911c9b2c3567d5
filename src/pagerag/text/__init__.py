"""Reading text: tokens, sentences, entities, relation cues → an Analysis per unit. NumPy alone."""

from pagerag.text.analysis import Analysis, Analyzer
from pagerag.text.entities import extract_entities
from pagerag.text.questions import Question, read_question
from pagerag.text.sentences import split_sentences
from pagerag.text.tokens import tokenize

__all__ = [
    "Analysis",
    "Analyzer",
    "Question",
    "extract_entities",
    "read_question",
    "split_sentences",
    "tokenize",
]
