"""Metrics, one estimand per file; each is a function of counts."""
