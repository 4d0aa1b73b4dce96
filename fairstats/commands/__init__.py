"""Define the commands of the command line, by topic; each is a thin layer over the API."""
