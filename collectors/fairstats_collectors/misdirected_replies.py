"""Telling a reply that was meant for another request.

HTTP/1.1 knows which request a response belongs to by its place on the connection alone. A server,
or a proxy before it, that sends one response twice makes the second one pass for the response to
the next request, and that one's for the request after it. Nothing but the body gives it away: a
chat completion has an id of its own, so that two requests never get the same bytes.
"""

from __future__ import annotations

from typing import Any


class Doubles:
    """The bodies that came so far."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._alike = False

    def suspect(self, content: bytes, completion: Any, before: int | None) -> int | None:
        """Whether a body came before, for another request.

        Parameters
        ----------
        content : bytes
            The body.
        completion : Any
            What it says.
        before : int or None
            What this returned for the same request, when it was asked the time before.

        Returns
        -------
        int or None
            None where the body can be believed. A body without an id can, and so can one that
            came again over another connection: such a service's replies are simply alike.
        """
        if self._alike or not completion.get("id"):
            return None
        digest = hash(content)
        if digest not in self._seen:
            self._seen.add(digest)
            return None
        self._alike = digest == before
        return None if self._alike else digest


async def close_connection(response: Any) -> None:
    """End the connection that a response came over, so that nothing more is read from it."""
    stream = response.extensions.get("network_stream")
    if stream is not None:
        await stream.aclose()
