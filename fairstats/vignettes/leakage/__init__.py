"""Does the text give the answer away? Measures, flags, and whether models follow."""
