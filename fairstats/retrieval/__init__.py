"""Answers with retrieved snippets: the retrievals, their effects, and votes over variants."""
