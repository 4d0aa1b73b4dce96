"""Vignettes: reading them, and judging how good their variants are."""
