"""Detect a reply that was meant for another request.

HTTP/1.1 matches responses to requests only by their order on the connection. If a server or a proxy
sends one response twice, the second copy passes for the response to the next request. That
request's response then passes for the one to the request after it. Only the body reveals this: each
chat completion has a unique id, so two requests never get the same bytes.
"""

from __future__ import annotations

from typing import Any


class Doubles:
    """The bodies that came so far."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._alike = False

    def suspect(self, content: bytes, completion: Any, before: int | None) -> int | None:
        """Check whether a body came before, for another request.

        Parameters
        ----------
        content : bytes
            The body.
        completion : Any
            The parsed body.
        before : int or None
            The earlier result for the same request, when it was last sent.

        Returns
        -------
        int or None
            None if the body is credible. A body without an id is credible, and so is one that came
            again over another connection: such a service's replies are simply the same.
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
    """Close the connection of a response, to read no more from it."""
    stream = response.extensions.get("network_stream")
    if stream is not None:
        await stream.aclose()
