"""The commands of the command line, by what they are about; each a few lines over the API."""
