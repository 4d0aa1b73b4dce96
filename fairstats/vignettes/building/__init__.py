"""Build variants with models, stage by stage."""
