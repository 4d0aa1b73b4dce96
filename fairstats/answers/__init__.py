"""The answers table: its schema, reading, writing, validation and engines."""
