"""From answers to outcome counts."""
