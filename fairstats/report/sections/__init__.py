"""The questions of a model's page and of its audit report: one section per file."""
