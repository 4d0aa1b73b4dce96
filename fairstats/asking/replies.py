"""A model's reply to a request, as it is kept."""

from __future__ import annotations

from typing import NamedTuple

from fairstats.asking.tasks import Slot


class Reply(NamedTuple):
    """One reply, or the reason why there is none, as a collector keeps it.

    Parameters
    ----------
    key : str
        The hash of what shaped it.
    model, endpoint : str
        The model's name at the service; the service's host and path, without credentials.
    parameters : str
        What was sent beside the messages, as canonical JSON.
    item_id, attribute, variant : str
        What was asked; `variant` is the group that it is written for.
    sample : int
        The repeat, from 0.
    prompt_sha256 : str
        Of the message.
    status : {"answered", "refused", "failed"}
        ``refused`` where the service itself marks the reply a refusal; ``failed`` where no reply
        came, after all retries.
    text : str
        The raw reply; of a failure, the reason.
    snapshot : str or None
        The model as the service reports it.
    latency_s, prompt_tokens, completion_tokens : number or None
        As measured and reported.
    collected_at : str
        When, in UTC.
    """

    key: str
    model: str
    endpoint: str
    parameters: str
    item_id: str
    attribute: str
    variant: str
    sample: int
    prompt_sha256: str
    status: str
    text: str
    snapshot: str | None
    latency_s: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    collected_at: str


#: The reply to each request.
Replies = dict[Slot, Reply]
