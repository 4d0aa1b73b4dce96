"""The estimates table, with verdicts and sensitivity, from outcome counts."""
