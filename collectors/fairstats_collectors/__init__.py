"""Collectors: each turns one source into answers that `fairstats` reads."""
