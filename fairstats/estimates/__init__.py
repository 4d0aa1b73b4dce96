"""From outcome counts to the estimates table, its verdicts and their sensitivity."""
