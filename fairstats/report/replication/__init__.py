"""The page that compares published with recomputed figures."""
