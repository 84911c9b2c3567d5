"""LangChain's own standard suite for retrievers, run on ours."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_tests")
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from pagerag.plugins.langchain import PageRAGRetriever

from .conftest import LANGCHAIN, QUESTION, twenty

pytestmark = [pytest.mark.integration, pytest.mark.anyio]  # anyio runs the suite's async test


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Fixed(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return LANGCHAIN.documents(twenty())


class TestStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return PageRAGRetriever

    @property
    def retriever_constructor_params(self):
        return {"retriever": Fixed()}

    @property
    def retriever_query_example(self):
        return QUESTION
