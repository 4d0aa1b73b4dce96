"""The pages on methods, data, benchmarks and releases."""
