"""What a collection has to ask: each variant of each item, as often as it is sampled."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fairstats._lib.problems import InputError, Problem
from fairstats.asking.item_prompts import Prompt

# English text in the tokenizers of the large services; only an estimate, and said to be one.
_CHARACTERS_A_TOKEN = 4

#: Item, attribute, group and sample.
Slot = tuple[str, str, str, int]


@dataclass(frozen=True)
class Task:
    """One request: a variant of an item, and which repeat of it.

    Parameters
    ----------
    prompt : Prompt
        What to ask.
    sample : int
        The repeat, from 0.
    """

    prompt: Prompt
    sample: int

    @cached_property
    def prompt_sha256(self) -> str:
        """The sha256 of the message."""
        return hashlib.sha256(self.prompt.text.encode()).hexdigest()

    @property
    def variant(self) -> tuple[str, str, str]:
        """Item, attribute and group."""
        return self.prompt.item.item_id, self.prompt.attribute, self.prompt.group

    @property
    def slot(self) -> Slot:
        """What has one answer, in the end: item, attribute, group and sample."""
        return *self.variant, self.sample

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens the message has."""
        return -(-len(self.prompt.text) // _CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class Shard:
    """One of several parts that a campaign is split into.

    Parameters
    ----------
    number, of : int
        Which part, from 1, of how many.

    Examples
    --------
    >>> [Shard(k, 3).holds("item-1") for k in (1, 2, 3)].count(True)
    1
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``k/n``.

        Raises
        ------
        InputError
            When it is no such thing, or k is none of 1 to n.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of:
            problem = Problem(
                f"shard = {text!r}", "is not a valid part", "write k/n, from 1/n to n/n"
            )
            raise InputError([problem])
        return cls(number, of)

    def holds(self, item_id: str) -> bool:
        """Whether an item, with all of its variants and samples, is in this part."""
        digest = hashlib.sha256(item_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def list_tasks(
    prompts: Iterable[Prompt], *, samples: int = 1, shard: Shard | None = None
) -> list[Task]:
    """The requests of a campaign, in the order of the prompts and then of the samples."""
    return [
        Task(prompt, sample)
        for prompt in prompts
        if shard is None or shard.holds(prompt.item.item_id)
        for sample in range(samples)
    ]
