"""Releasing what was built and reviewed as a benchmark, with its data card."""
