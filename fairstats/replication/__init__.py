"""Published figures next to recomputed ones."""
