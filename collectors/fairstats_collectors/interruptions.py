"""How a campaign can end before its time, and what to do then."""

from __future__ import annotations

from fairstats._lib.problems import InputError, Problem
from fairstats_collectors.campaign import Campaign
from fairstats_collectors.journal_to_answers import Reconciliation


class Unfinished(InputError):
    """Raised when a collection ended before its time; what was answered is in the journal."""


def unfinished(campaign: Campaign, result: Reconciliation) -> BaseException:
    """How to go on after a campaign that ended before its time."""
    budget, service = campaign.budget, campaign.service
    remedies = {
        "missing": ("not all of it came back", "start the same again to ask for the rest"),
        "interrupted": ("interrupted", "start the same again to go on"),
        "budget": (
            f"stopped before the budget of ${budget.max_cost} was overspent "
            f"(${budget.spent:,.4f} so far)",
            "start the same again with a larger max_cost to go on",
        ),
        "disk": ("the disk is full", "make room, and start the same again to go on"),
        "service": (
            f"{service.turned_away} requests in a row were turned away",
            f"{service.advice}, and start the same again to go on",
        ),
    }
    message, remedy = remedies[campaign.stopped or "missing"]
    said = f"{message}; {result}, each answer is kept"
    if campaign.unkept:
        said = f"{message}; {result}; {len(campaign.unkept)} replies found no room"
    problem = Problem(str(campaign.journal.path), said, remedy)
    if campaign.stopped == "interrupted":
        return KeyboardInterrupt(str(problem))
    return Unfinished([problem])
