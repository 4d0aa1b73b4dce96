"""Answer leakage: measures, flags, and whether models follow the text."""
