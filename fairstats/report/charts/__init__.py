"""Charts of rows: the marks, and their HTML and SVG."""
