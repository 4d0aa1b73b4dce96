"""Two models or strategies on the same items, and the ranks of many."""
