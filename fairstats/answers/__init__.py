"""The answers table: its schema, reading, writing, checking, and the engines that hold it."""
