"""The pages that compare versions and prompts."""
