"""Make the pool of a benchmark question: rank its own units, search a corpus, or read a file."""
