"""The audit report of one model, for signature."""
