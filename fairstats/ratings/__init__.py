"""Raters' judgements on open answers: rubrics, the ratings table, rates, agreement."""
