"""State what comparisons of versions or of prompts show, from the release's tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fairstats._lib.formatting import capital, counted, listed, number_word, quoted, uncapital
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.release.contents import Release
from fairstats.report.changes.rows import Comparison, PairChange, changes_of, figures_of, gap_of
from fairstats.report.findings import prompt_label
from fairstats.report.tables import labels_of
from fairstats.report.words import counted_items

#: Names that a sentence lists, and sentences with details; of more, the number is given.
_LISTED = 6
#: What a newer model is for a pair of groups, by its verdict.
_VERDICTS = {WIN_WIN: "better", LOSE_LOSE: "worse"}
_UNCLEAR = "not clearly better or worse"
#: Without a verdict: by whether figures improved, and whether some became worse.
_MOVED = {
    (True, True): "better in part and worse in part",
    (True, False): "partly better",
    (False, True): "partly worse",
    (False, False): _UNCLEAR,
}


def version_answer(one: Comparison) -> tuple[dict[str, str], str]:
    """Answer whether a model is better than the version before: a word per pair, and sentences.

    A word is empty if the pair is not judged.
    """
    least, most = (int(end(pair.gap["n"] for pair in one.pairs)) for end in (min, max))
    items = f"{least:,} to " * (least < most) + counted_items(one.benchmark, most)
    basis = ", ".join([*[prompt_label(one.prompt)] * one.prompted, items])
    notes = dict.fromkeys([*_reasons(one), *filter(None, [one.note])])
    texts = [_details(one), basis, *notes, *_questions([one])]
    short = labels_of("changes")["short"]
    words = {pair.name: short[_word(one, pair)] for pair in one.pairs}
    return words, " ".join(f"{capital(text)}." for text in texts)


def version_finding(compared: Sequence[Comparison]) -> str:
    """State which newer models are better than the previous version, as plain text."""
    several = len({one.context for one in compared}) > 1
    detailed = len({(_words(one), _details(one)) for one in compared}) <= _LISTED
    models, order = defaultdict(list), list(labels_of("changes")["short"])
    for one in compared:
        place = max(order.index(_word(one, pair)) for pair in one.pairs)
        reasons = [*_reasons(one)] if one.alike else []
        details = f": {'; '.join([_details(one), *reasons])}" if detailed else ""
        name = quoted(one.new) + f" ({one.context})" * several
        models[place, f"{_words(one)}{details}", one.before].append(name)
    sentences, last = [], ""
    for (_, words, before), names in sorted(models.items()):
        who = f"{number_word(len(names))} newer models" if len(names) > _LISTED else listed(names)
        text = f"{who} {'are' if len(names) > 1 else 'is'} {words}."
        sentences.append(capital(text if before == last else f"compared with {before}, {text}"))
        last = before
    notes = [*_cautions(compared), *_questions(compared)]
    return " ".join([*sentences, *(f"{capital(text)}." for text in notes)])


def _cautions(compared: Sequence[Comparison]) -> Iterator[str]:
    """Name the comparisons that are judged, but not like for like."""
    noted = [f"{quoted(one.new)} ({one.note})" for one in compared if one.alike and one.note]
    if noted:
        few = len(noted) <= _LISTED
        yield f"not like for like: {listed(noted) if few else counted(len(noted), 'model')}"


def _questions(compared: Sequence[Comparison]) -> Iterator[str]:
    """Name the models whose answers may be invented or copied, for all that screening can see."""
    models = list(dict.fromkeys(name for one in compared for name in one.questioned))
    if models:
        few = len(models) <= _LISTED
        whose = listed(map(quoted, models)) if few else counted(len(models), "model")
        yield f"screening has a question about the answers of {whose}: see the leaderboard"


def _words(one: Comparison) -> str:
    """Return what a newer model is, for each pair of groups if it differs."""
    found = defaultdict(list)
    for pair in one.pairs:
        found[_word(one, pair)].append(pair.name)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{word}{_for_pairs(names, one)}" for word, names in found.items())


def _word(one: Comparison, pair: PairChange) -> str:
    if pair.verdict is None or not one.alike:
        return "not judged"
    if pair.verdict in _VERDICTS or pair.reason:
        return _VERDICTS.get(pair.verdict, _UNCLEAR)
    found = {pair.direction(metric) for metric in pair.figures}
    return _MOVED[1 in found, -1 in found]


def _details(one: Comparison) -> str:
    """State for which pairs each figure improved or became worse."""
    if not one.alike:
        return "the questions are different"
    if one.ranged:
        return "each change is a range, because missing answers could be anything"
    kind = one.benchmark.kind
    labels = {m: uncapital(label) for m, (label, _) in figures_of(kind).items() if m in BETTER}
    labels[f"delta_{kind.disparity}"] = gap_of(kind)
    found = defaultdict(list)
    for verb, way in (("improved", 1), ("became worse", -1)):
        for metric, label in labels.items():
            names = [pair.name for pair in one.pairs if pair.direction(metric) == way]
            if names:
                found[f"{verb}{_for_pairs(names, one)}"].append(label)
    if not found:
        return f"no change of {listed(labels.values(), 'or')} is significant"
    still = [label for label in labels.values() if not any(label in own for own in found.values())]
    parts = listed(f"{listed(own)} {changed}" for changed, own in found.items())
    return parts + (f", without a significant change in {listed(still)}" if still else "")


def _reasons(one: Comparison) -> Iterator[str]:
    """State why verdicts are withheld, for each pair of groups if it differs."""
    found = defaultdict(list)
    for pair in one.pairs:
        if pair.reason:
            found[pair.reason].append(pair.name)
    for reason, names in found.items():
        some = len(names) < len(one.pairs)
        yield f"{_for_pairs(names, one).strip()}, {reason}" if some else reason


def _for_pairs(names: Sequence[str], one: Comparison) -> str:
    every = len(one.pairs)
    if len(names) == every:
        return " for every pair of groups" if every > 1 else ""
    return f" for {listed(names) if len(names) <= _LISTED else f'{len(names)} of {every} pairs'}"


class _Gap(NamedTuple):
    """A gap with the reference and with another prompt: verdicts, and whether it is smaller."""

    one: Comparison
    pair: PairChange
    before: str | None
    after: str | None
    moved: int

    @property
    def closed(self) -> bool:
        """Check whether it is equivalent, by a significant change."""
        return self.after == EQUIVALENT and self.moved > 0


def _gaps(compared: Sequence[Comparison], release: Release) -> list[_Gap]:
    kind, rows = compared[0].benchmark.kind, release.estimates
    rows = rows[rows["metric"].eq(kind.difference) & rows["verdict"].notna()]
    verdicts = dict(zip(map(tuple, rows[[*PAIR_COLUMNS]].to_numpy()), rows["verdict"], strict=True))
    found = []
    for one, pair in changes_of(compared):
        before, after = (
            verdicts.get((one.benchmark.name, one.version, one.new, strategy, *pair.pair))
            for strategy in (one.reference, one.prompt)
        )
        found.append(_Gap(one, pair, before, after, pair.direction(f"delta_{kind.disparity}")))
    return found


def prompt_answer(compared: Sequence[Comparison], release: Release) -> tuple[str, str]:
    """Answer whether another prompt closes the gaps of one model: in short, and in sentences.

    The short answer is empty if no gap has a verdict.
    """
    text, left = prompt_finding(compared, release), defaultdict(list)
    gaps = _gaps(compared, release)
    for gap in gaps:
        if gap.before != EQUIVALENT:
            left[gap.pair.pair].append(gap)
    if all(gap.before is None for gap in gaps):
        return "", text
    if not left:
        return "No gap to close", text
    if set.intersection(*({gap.one.prompt for gap in own if gap.closed} for own in left.values())):
        return "Yes", text
    if all(gap.before == gap.after == DISPARITY for own in left.values() for gap in own):
        narrower = all(any(gap.moved > 0 for gap in own) for own in left.values())
        return "Only partly" if narrower else "No", text
    return "Unclear", text


def prompt_finding(compared: Sequence[Comparison], release: Release) -> str:
    """State whether another prompt closes or narrows gaps, as plain text."""
    one, gaps, say = compared[0], _gaps(compared, release), labels_of("changes")["prompts"]
    if one.ranged:
        return str(say["range"])
    kind = one.benchmark.kind
    words = {
        "reference": prompt_label(one.reference),
        "margin": f"±{kind.shown_margin(one.benchmark.equivalence_margin)}",
        "gap": gap_of(kind),
        "n": len(gaps),
    }
    return " ".join(say[key].format_map(words | more) for key, more in _found(gaps))


def _found(gaps: Sequence[_Gap]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sentences on gaps, by their keys in ``labels.toml``, each with its words."""
    # What became worse comes first: a reassuring sentence must not hide it.
    if worse := sum(gap.pair.direction("delta_cfr") < 0 for gap in gaps):
        yield "consistency", {"worse": worse, "comparisons": counted(len(gaps), "comparison")}
    new = [gap for gap in gaps if gap.after == DISPARITY and gap.before not in (None, DISPARITY)]
    if new:
        # One verdict may be significant and the other not, although their difference is not.
        larger = sum(gap.moved < 0 for gap in new)
        changes = f"{number_word(larger)} significant change{'s' * (larger > 1)}"
        yield "new", {"named": _named(new), "changes": changes}
    yield _closing(gaps)
    ways = {"smaller": 1, "larger": -1}
    found = {word: [gap for gap in gaps if gap.moved == way] for word, way in ways.items()}
    changes = listed(f"{word} for {_named(own)}" for word, own in found.items() if own)
    moved = sum(map(len, found.values()))
    many = f"{number_word(moved)} {'is' if moved == 1 else 'are'}" if moved else "none is"
    more = {"many": many, "no": "" if moved else "not ", "changes": changes and f": {changes}"}
    yield "significant" if len(gaps) > 1 else "significant_one", more


def _closing(gaps: Sequence[_Gap]) -> tuple[str, dict[str, Any]]:
    """Return whether disparities with the reference are equivalent with another prompt."""
    disparities = [gap for gap in gaps if gap.before == DISPARITY]
    if not disparities:
        before = {(gap.one.new, gap.one.version, gap.pair.pair): gap.before for gap in gaps}
        counts = Counter(verdict or "without a verdict" for verdict in before.values())
        text = ", ".join(f"{word}: {count} of {len(before)}" for word, count in counts.items())
        same = {EQUIVALENT: "equivalent", "without a verdict": "no_verdict"}
        key = same.get(next(iter(counts)), "") if len(counts) == 1 else ""
        return key or "no_disparity", {"counts": text}
    if closed := [gap for gap in disparities if gap.closed]:
        return "closed", {"named": _named(closed)}
    if all(gap.after == DISPARITY for gap in disparities):
        return "stay", {}
    how = " by a significant change" * any(gap.after == EQUIVALENT for gap in disparities)
    n = len(disparities)
    return "open" if n > 1 else "open_one", {"n": n, "how": how}


def _named(gaps: Sequence[_Gap]) -> str:
    if len(gaps) > _LISTED:
        return f"{len(gaps)} gaps"
    return listed(
        f"{quoted(gap.one.new)} with the {prompt_label(gap.one.prompt)} ({gap.pair.name})"
        for gap in gaps
    )
