"""The pages on human ratings."""
