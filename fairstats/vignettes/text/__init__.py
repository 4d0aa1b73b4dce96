"""What the text of a vignette says: words, sentences, clinical content."""
