"""Shared code: messages, safe names, files, resources and result objects."""
