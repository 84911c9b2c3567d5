"""Measure, fit and train pagerag: benchmarks, metrics, runs, reproduction, rivals, tuning, training."""
