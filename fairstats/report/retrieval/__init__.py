"""The page on retrieved snippets."""
