"""Building variants with models, stage by stage."""
