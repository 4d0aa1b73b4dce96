"""Counts of outcomes, computed from answers."""
