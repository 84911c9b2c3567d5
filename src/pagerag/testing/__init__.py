"""For people who write components: a conformance check for each protocol, and the fakes tests need.

A check is called in a test of one's own with the component to check. It raises AssertionError that says
which contract was broken and what was seen; when it returns, pagerag can use the component::

    from pagerag.testing import check_retriever

    def test_my_retriever_conforms():
        check_retriever(MyRetriever(corpus), questions=["Who wrote Faust?"])

The contracts are those of ``pagerag.protocols``.
"""

from pagerag.testing.chat import Reply, ScriptedChat
from pagerag.testing.corpora import check_corpus
from pagerag.testing.encoders import check_encoder, check_extractor, check_support_encoder
from pagerag.testing.fakes import FakeBackend, FakeEncoder, FakeReader, FakeRetriever, FakeSupportEncoder
from pagerag.testing.pools import check_backend, check_retriever
from pagerag.testing.readers import check_reader

__all__ = [
    "FakeBackend",
    "FakeEncoder",
    "FakeReader",
    "FakeRetriever",
    "FakeSupportEncoder",
    "Reply",
    "ScriptedChat",
    "check_backend",
    "check_corpus",
    "check_encoder",
    "check_extractor",
    "check_reader",
    "check_retriever",
    "check_support_encoder",
]
