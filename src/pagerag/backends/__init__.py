"""Other RAG systems behind one question-to-pool door: living systems, compact re-implementations, files."""
