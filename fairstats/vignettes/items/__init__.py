"""What answers say of the items of a benchmark and of their selection."""
