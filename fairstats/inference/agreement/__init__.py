"""Agreement of raters: coefficients, intervals, and their counts."""
