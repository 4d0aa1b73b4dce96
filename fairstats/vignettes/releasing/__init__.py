"""Release of a built and reviewed benchmark, with its data card."""
