"""Handing out tasks to raters, people or models, and taking their judgements in."""
