"""The requests of a collection: each variant of each item, once per sample."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fairstats._lib.problems import InputError, Problem
from fairstats.asking.item_prompts import Prompt

# English text in the tokenizers of large services; only an estimate, and labelled as one.
_CHARACTERS_A_TOKEN = 4

#: Item, attribute, group and sample.
Slot = tuple[str, str, str, int]


@dataclass(frozen=True)
class Task:
    """One request: a sample of a variant of an item.

    Parameters
    ----------
    prompt : Prompt
        The prompt.
    sample : int
        The sample, from 0.
    """

    prompt: Prompt
    sample: int

    @cached_property
    def prompt_sha256(self) -> str:
        """Return the sha256 of the prompt."""
        return hashlib.sha256(self.prompt.text.encode()).hexdigest()

    @property
    def variant(self) -> tuple[str, str, str]:
        """Return item, attribute and group."""
        return self.prompt.item.item_id, self.prompt.attribute, self.prompt.group

    @property
    def slot(self) -> Slot:
        """Return the key of a single answer: item, attribute, group and sample."""
        return *self.variant, self.sample

    @property
    def prompt_tokens(self) -> int:
        """Return the approximate number of tokens of the prompt."""
        return -(-len(self.prompt.text) // _CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class Shard:
    """One of several parts into which a campaign is split.

    Parameters
    ----------
    number, of : int
        The number of the part, from 1, and the number of parts.

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
            If it does not have this form, or k is not from 1 to n.
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
        """Return whether an item, with all of its variants and samples, is in this part."""
        digest = hashlib.sha256(item_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def list_tasks(
    prompts: Iterable[Prompt], *, samples: int = 1, shard: Shard | None = None
) -> list[Task]:
    """Return the requests of a campaign, ordered by prompt and then by sample."""
    return [
        Task(prompt, sample)
        for prompt in prompts
        if shard is None or shard.holds(prompt.item.item_id)
        for sample in range(samples)
    ]
