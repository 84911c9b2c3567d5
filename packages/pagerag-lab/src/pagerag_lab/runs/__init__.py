"""Resumable runs: questions in chunks through a pool of processes."""
