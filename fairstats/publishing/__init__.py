"""Publish, verify, compare and preview releases; the JSON API, feed and badges."""
