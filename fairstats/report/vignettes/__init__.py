"""The pages on the text of vignettes."""
