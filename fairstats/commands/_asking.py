"""The options of asking a model, which collecting answers and asking for ratings share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from fairstats._lib.problems import InputError, Problem

BaseUrl = Annotated[
    str | None,
    typer.Option(help="URL of an OpenAI-compatible server. Its key is read from OPENAI_API_KEY."),
]
MaxTokens = Annotated[int | None, typer.Option(help="Maximum number of tokens in a reply.")]
Temperature = Annotated[
    float, typer.Option(help="Sampling temperature, if the service accepts one.")
]
Concurrency = Annotated[int, typer.Option(help="Number of requests to run at once.")]
RequestsAMinute = Annotated[
    int | None, typer.Option(help="Maximum number of requests per minute (default: no limit).")
]
TokensAMinute = Annotated[
    int | None, typer.Option(help="Maximum number of tokens per minute (default: no limit).")
]
Price = Annotated[
    str | None, typer.Option(help="Price in dollars per million tokens, as PROMPT,COMPLETION.")
]
MaxCost = Annotated[
    float | None,
    typer.Option(help="Stop before the cost exceeds this many dollars (default: no limit)."),
]
Timeout = Annotated[
    float, typer.Option(help="Seconds to wait for a reply before repeating the request.")
]
Retries = Annotated[int, typer.Option(help="Maximum number of times to repeat a request.")]
KeepFailures = Annotated[
    bool,
    typer.Option("--keep-failures", help="Do not repeat requests that failed in an earlier run."),
]
Batch = Annotated[
    bool, typer.Option("--batch", help="Send the requests through the service's Batch API.")
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show what would be sent and the estimated cost. Send no request."
    ),
]


@contextmanager
def stoppable() -> Iterator[None]:
    """Exit with 130 if the user stops a campaign, and print its last message."""
    try:
        yield
    except KeyboardInterrupt as interrupted:
        typer.echo(str(interrupted) or "interrupted", err=True)
        raise typer.Exit(130) from None


def read_price(text: str) -> tuple[float, float]:
    """Dollars for a million tokens of prompt and of completion."""
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = -1.0
    if not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
        remedy = "write the dollars per million tokens of prompt and of completion, e.g. 2,8"
        raise InputError([Problem("--price", f"{text!r} is not a price", remedy)])
    return prompt, completion
