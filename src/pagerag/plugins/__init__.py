"""Use the promotion stage inside other frameworks, one module each.

======================  ==========================================  ==========================
module                  what it gives                               extra
======================  ==========================================  ==========================
``plugins.langchain``   ``PageRAGRetriever``, ``PageRAGCompressor``  ``pagerag[langchain]``
``plugins.llamaindex``  ``PageRAGPostprocessor``                    ``pagerag[llamaindex]``
``plugins.haystack``    ``PageRAGRanker``                           ``pagerag[haystack]``
``plugins.dspy``        ``PageRAG``                                 ``pagerag[dspy]``
``plugins.rerankers``   ``PageRAGRanker``                           ``pagerag[rerankers]``
``plugins.flashrag``    ``PageRAGRefiner``, ``PageRAGReranker``     none: duck-typed
``plugins.txtai``       ``PageRAGSimilarity``                       none: a plain callable
======================  ==========================================  ==========================

All of them copy the documents they hand on, keep their metadata, and write provenance to
``metadata["pagerag"]`` (LlamaIndex: ``pagerag_role``, ``pagerag_why`` …). Settings are checked when a
component is made and when one is set later. Importing a module whose framework is not installed raises
MissingExtraError.
"""
