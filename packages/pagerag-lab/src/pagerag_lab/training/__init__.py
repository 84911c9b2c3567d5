"""Training of the shipped models: one command per model (see docs/models.md)."""
