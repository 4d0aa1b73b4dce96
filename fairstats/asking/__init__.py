"""Prompts, requests, models' replies, and the letters chosen in them."""
