"""PAGE-RAG evidence promotion for LangChain."""

from pagerag.plugins.langchain import PageRAGCompressor, PageRAGRetriever, context_text

__all__ = ["PageRAGCompressor", "PageRAGRetriever", "context_text"]
