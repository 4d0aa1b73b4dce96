"""Vignettes: reading them, and assessing the quality of their variants."""
