"""Assign rating tasks to people or models, and import their judgements."""
