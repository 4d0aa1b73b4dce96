"""Rules on the text of vignettes: what names a group, neutral wording, substitution."""
