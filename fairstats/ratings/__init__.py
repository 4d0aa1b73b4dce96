"""Judgements of raters on open answers: rubrics, the ratings table, rates, agreement."""
