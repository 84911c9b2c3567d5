"""PAGE-RAG evidence promotion for LlamaIndex."""

from pagerag.plugins.llamaindex import PageRAGPostprocessor

__all__ = ["PageRAGRerank"]


class PageRAGRerank(PageRAGPostprocessor):
    """Hand on at most ``top_n`` of the retrieved nodes: the promoted evidence, best first."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores the component."""
        return "PageRAGRerank"
