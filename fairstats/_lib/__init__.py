"""What every room uses: messages, safe names, files, resources and result objects."""
