"""Fitting on train files: the formula's weights and the learned scorer. ``pagerag tune`` is the command."""
