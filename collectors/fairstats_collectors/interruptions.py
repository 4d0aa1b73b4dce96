"""Describe how a campaign can end early, and how to continue it."""

from __future__ import annotations

from fairstats._lib.problems import InputError, Problem
from fairstats_collectors.campaign import Campaign
from fairstats_collectors.journal_to_answers import Reconciliation


class Unfinished(InputError):
    """Raised if a collection ends early; the journal has all replies so far."""


def unfinished(campaign: Campaign, result: Reconciliation) -> BaseException:
    """Describe how to continue a campaign that ended early."""
    budget, service = campaign.budget, campaign.service
    remedies = {
        "missing": ("some replies did not arrive", "run it again to request the rest"),
        "interrupted": ("interrupted", "run it again to continue"),
        "budget": (
            f"stopped before exceeding the budget of ${budget.max_cost} "
            f"(${budget.spent:,.4f} so far)",
            "run it again with a larger max_cost to continue",
        ),
        "disk": ("the disk is full", "free some space, then run it again to continue"),
        "service": (
            f"the service rejected {service.turned_away} requests in a row",
            f"{service.advice}, then run it again to continue",
        ),
    }
    message, remedy = remedies[campaign.stopped or "missing"]
    said = f"{message}; {result}; all answers so far are stored"
    if campaign.unkept:
        said = f"{message}; {result}; {len(campaign.unkept)} replies could not be stored"
    problem = Problem(str(campaign.journal.path), said, remedy)
    if campaign.stopped == "interrupted":
        return KeyboardInterrupt(str(problem))
    return Unfinished([problem])
