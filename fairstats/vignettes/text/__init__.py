"""The text of a vignette: words, sentences, clinical content."""
