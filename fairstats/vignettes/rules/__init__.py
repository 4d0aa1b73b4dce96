"""Rules for the text of vignettes: group words, neutral wording, substitution."""
