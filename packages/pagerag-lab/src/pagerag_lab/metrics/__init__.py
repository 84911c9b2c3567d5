"""Measures of evidence, rankings, probabilities and answers."""
