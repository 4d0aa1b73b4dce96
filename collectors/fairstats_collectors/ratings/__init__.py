"""Handing out and taking in ratings."""
