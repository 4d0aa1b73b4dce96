"""Names of strategies: the prompt, the retriever, and whether answers were voted on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairstats._lib.formatting import quoted
from fairstats._lib.problems import Problem
from fairstats._lib.safe_names import fold_name
from fairstats.benchmarks.declaration import PLAIN

if TYPE_CHECKING:
    import pandas as pd

MAJORITY_VOTE = "majority_vote"
_RETRIEVED = re.compile(
    r"(?P<prompt>.+)\+(?P<retriever>[a-z0-9][a-z0-9_.-]*)@(?P<top_k>[1-9][0-9]{0,3})"
)
_VOTED = re.compile(rf"{MAJORITY_VOTE}(?P<clustered>_open)?(\((?P<of>.+)\))?")
# Names that readers could mistake for a vote, after folding.
_LIKE_VOTED = re.compile(r"majority-?vote(-?open)?-?(\(.*\))?-?(\+.*)?")


@dataclass(frozen=True)
class Strategy:
    """How a model was prompted.

    Parameters
    ----------
    prompt : str
        The prompt's name, e.g. ``"plain"`` or ``"cot"``.
    retriever : str or None
        The retriever of the snippets in the prompt; None if there were none.
    top_k : int or None
        The maximum number of snippets in the prompt.
    voted : bool
        Whether the answers are the majority over the item's demographic variants.
    clustered : bool
        Whether votes were over replies, by their content, and not over letters.

    Examples
    --------
    >>> Strategy("cot", "bm25", 10).name
    'cot+bm25@10'
    >>> Strategy("plain", "bm25", 10, voted=True).name
    'majority_vote+bm25@10'
    >>> Strategy("cot", voted=True).name
    'majority_vote(cot)'
    """

    prompt: str
    retriever: str | None = None
    top_k: int | None = None
    voted: bool = False
    clustered: bool = False

    @property
    def name(self) -> str:
        """Return the name as in the answers table."""
        name = self.prompt
        if self.voted:
            vote = f"{MAJORITY_VOTE}_open" if self.clustered else MAJORITY_VOTE
            name = vote if self.prompt == PLAIN else f"{vote}({self.prompt})"
        return name if self.retriever is None else f"{name}+{self.retriever}@{self.top_k}"


def votes_among(names: Iterable[str]) -> list[str]:
    """Return those of these strategies that are votes, each once.

    Other spellings of a vote's name count as votes, see `fairstats._lib.safe_names.fold_name`.

    Examples
    --------
    >>> votes_among(["plain", "majority_vote", "plain+bm25@10", "majority_vote"])
    ['majority_vote']
    >>> votes_among(["Majority-Vote ", "majority_vote(plain)", "my majority_vote"])
    ['Majority-Vote ', 'majority_vote(plain)']
    """
    return [
        name
        for name in dict.fromkeys(names)
        if read_strategy(name).voted or _LIKE_VOTED.fullmatch(fold_name(name))
    ]


#: A note on results from votes.
VOTED = "majority votes over the variants of an item, not a model's answers"


def vote_problems(answers: pd.DataFrame, path: str, remedy: str) -> list[Problem]:
    """Return a problem for each strategy of these answers that is a majority vote.

    Votes give the same answer for all variants of an item, so they have no disparity by
    construction. They would pass every limit and lead a board.
    """
    message = "are majority votes, so groups cannot differ"
    return [
        Problem(path, message, remedy, column="strategy", value=name)
        for name in votes_among(answers["strategy"].dropna().unique())
    ]


#: Readers' names for the prompts of published studies.
_PROMPTS = {
    PLAIN: "plain",
    "cot": "reasoning first",
    "few": "three examples",
    "role": "physician role",
    "aware": "bias warning",
    "mix": "mixed",
}


def strategy_label(name: str) -> str:
    """Return a strategy's name for readers; a prompt of another name is in quotation marks.

    Examples
    --------
    >>> strategy_label("cot"), strategy_label("my prompt")
    ('reasoning first', '“my prompt”')
    >>> strategy_label("majority_vote(cot)+bm25@10")
    'reasoning first, 10 snippets (bm25), majority vote'
    """
    read = read_strategy(name)
    parts = [_PROMPTS.get(read.prompt) or quoted(read.prompt)]
    if read.retriever is not None:
        parts.append(f"{read.top_k} snippet{'s' * (read.top_k != 1)} ({read.retriever})")
    if read.voted:
        parts.append("majority vote of replies" if read.clustered else "majority vote")
    return ", ".join(parts)


def read_strategy(name: str) -> Strategy:
    """Parse the name of a strategy; a name in any other form is that of a prompt.

    A prompt name that ends in ``+name@number`` cannot be distinguished from one with snippets, so
    avoid such names.

    Examples
    --------
    >>> read_strategy("majority_vote+bm25@10")
    Strategy(prompt='plain', retriever='bm25', top_k=10, voted=True, clustered=False)
    >>> read_strategy("my own way + more")
    Strategy(prompt='my own way + more', retriever=None, top_k=None, voted=False, clustered=False)
    """
    rest, retriever, top_k = name, None, None
    if found := _RETRIEVED.fullmatch(name):
        rest, retriever, top_k = found["prompt"], found["retriever"], int(found["top_k"])
    prompt, voted, clustered = rest, False, False
    if found := _VOTED.fullmatch(rest):
        prompt, voted, clustered = found["of"] or PLAIN, True, found["clustered"] is not None
    read = Strategy(prompt, retriever, top_k, voted, clustered)
    # One name per strategy: any other spelling is a user's prompt name.
    return read if read.name == name else Strategy(name)
