"""The tables of a release, its folder and its manifest."""
