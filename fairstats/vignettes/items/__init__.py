"""A benchmark's items and their selection, judged from answers."""
