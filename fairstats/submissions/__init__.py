"""Answers that others send in: what they declare, and the record of its acceptance."""
