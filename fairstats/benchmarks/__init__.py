"""Benchmark declarations, their copies in a release, and the texts of vignettes."""
