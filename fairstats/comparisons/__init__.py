"""Comparisons of two models or strategies on the same items, and ranks of many models."""
