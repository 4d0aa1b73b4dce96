"""What a benchmark declares, its copies in a release, and the texts of its vignettes."""
