"""A stored reply of a model to a request."""

from __future__ import annotations

from typing import NamedTuple

from fairstats.asking.tasks import Slot


class Reply(NamedTuple):
    """A stored reply, or the reason why there is none.

    Parameters
    ----------
    key : str
        The hash of everything that affects the reply.
    model, endpoint : str
        The model's name at the service; the service's host and path, without credentials.
    parameters : str
        The settings sent with the messages, as canonical JSON.
    item_id, attribute, variant : str
        The item and variant; `variant` is the group for which it is written.
    sample : int
        The repeat, from 0.
    prompt_sha256 : str
        Hash of the prompt.
    status : {"answered", "refused", "failed"}
        ``refused`` if the service marks the reply as a refusal; ``failed`` if there was no reply
        after all retries.
    text : str
        The raw reply; for a failure, the reason.
    snapshot : str or None
        The model as reported by the service.
    latency_s, prompt_tokens, completion_tokens : number or None
        As measured and reported.
    collected_at : str
        The time, in UTC.
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
