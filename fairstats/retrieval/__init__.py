"""Answers with retrieved snippets: what was retrieved, its effects, and votes over variants."""
