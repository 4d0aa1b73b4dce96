"""One estimand a file; each is a function of counts."""
