"""Join the journals of a campaign that was split over several machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fairstats._lib.problems import Problem, input_error, keyword, parameter, refuse
from fairstats.answers.files import write_answers
from fairstats.answers.strategies import read_strategy
from fairstats.asking.item_prompts import list_prompts
from fairstats.asking.models import Reply, Slot, Task, list_tasks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats_collectors.campaign import Unfinished, reconcile
from fairstats_collectors.collect import answer_rows, answers_path, check_replaceable
from fairstats_collectors.excerpts import read_excerpts
from fairstats_collectors.journal import FACTS, SUFFIX, Journal, read_journal

_Source = tuple[Path, dict[str, str], list[Reply]]


def merge(
    journals: Iterable[Path],
    *,
    out: Path,
    benchmark: Benchmark | None = None,
    retrievals: Path | None = None,
) -> Path:
    """Join journals into one, and write the answers if no reply is missing.

    Parameters
    ----------
    journals : iterable of Path
        The journals of the shards, or of any runs of the same campaign. They are only read.
    out : Path
        The folder for the joined journal and the answers. An existing journal of the campaign is
        joined as well.
    benchmark : Benchmark, optional
        The benchmark that was used; by default the built-in one that the journals name.
    retrievals : Path, optional
        The file of retrievals that was used; required if there was one.

    Returns
    -------
    Path
        The answers.

    Raises
    ------
    Unfinished
        If replies are still missing; the joined journal is written, and `collect` continues it.
    InputError
        If a journal cannot be trusted or belongs to another campaign. If two journals have
        different replies to the same question, or replies to one variant with two different
        prompts. If a reply is to a prompt that is not the benchmark's, or the retrievals are not
        those that were used. Then no file is written.
    """
    paths = [Path(path) for path in journals]
    if not paths:
        raise input_error("<no path>", "no journals to merge", "give the journals")
    sources = [(path, *read_journal(path)) for path in paths]
    facts = _facts(sources)
    path = answers_path(out, facts)
    target = path.with_name(f"{path.stem}{SUFFIX}")
    if target.exists() and target.resolve() not in [other.resolve() for other in paths]:
        sources.append((target, *read_journal(target)))
        _facts(sources)
    replies = _join(sources)
    asked = benchmark or load_benchmark(facts["benchmark"])
    tasks = _expected(asked, facts, sources, retrievals)
    _check_prompts(sources, {task.slot: task for task in tasks})
    check_replaceable(path, tasks, replies)
    with Journal(target, {**facts, "shard": "1/1"}) as journal:
        for _, campaign, _ in sources:
            for name, value in campaign.items():
                if name not in (*FACTS, "shard", "format"):
                    journal.note(name, value)
        journal.keep(replies.values())
    result = reconcile(tasks, replies)
    if result.missing:
        item_id, attribute, group, sample = result.missing[0]
        said = f"{result}; first missing: {item_id}, {attribute}, {group}, sample {sample}"
        remedy = (
            "merge the other journals too, or run collect with "
            f"{keyword('out', str(out))} to request the rest"
        )
        raise Unfinished([Problem(str(target), said, remedy)])
    return write_answers(answer_rows(asked, tasks, replies, facts), path)


def _facts(sources: list[_Source]) -> dict[str, str]:
    """Return the facts that all journals share."""
    (first, campaign, _), *rest = sources
    facts = {name: campaign[name] for name in FACTS}
    remedy = "merge only journals of the same campaign"
    refuse(
        Problem(str(path), message, remedy, column=name, value=other[name])
        for path, other, _ in rest
        for name in FACTS
        if other[name] != facts[name]
        for message in [f"is from another campaign than {first}, with {name} = {facts[name]!r}"]
    )
    return facts


def _join(sources: list[_Source]) -> dict[Slot, Reply]:
    """Keep one reply per slot: an answer before a failure, else the first."""
    joined: dict[Slot, tuple[Path, Reply]] = {}
    problems = []
    for path, _, replies in sources:
        for reply in replies:
            slot = (reply.item_id, reply.attribute, reply.variant, reply.sample)
            earlier, other = joined.setdefault(slot, (path, reply))
            if other.status == "failed":
                joined[slot] = (path, reply)
            elif reply.status != "failed" and (message := _contradiction(other, reply)):
                said = f"{message} from {earlier} ({reply.text[:60]!r}, {other.text[:60]!r})"
                remedy = "find out which of the two is right, and remove the other journal"
                where = ", ".join(map(str, slot))
                problems.append(Problem(str(path), said, remedy, column="reply", value=where))
    refuse(problems)
    return {slot: reply for slot, (_, reply) in joined.items()}


def _contradiction(one: Reply, other: Reply) -> str | None:
    if one.key != other.key:
        return "differs in service, settings, prompt or reply for the same question"
    if (one.status, one.text, one.snapshot) != (other.status, other.text, other.snapshot):
        return "the same question has a different reply"
    return None


def _expected(
    benchmark: Benchmark,
    facts: Mapping[str, str],
    sources: list[_Source],
    retrievals: Path | None,
) -> list[Task]:
    """Return the campaign's size by its journals: the number of items, and of samples of each."""
    if benchmark.name != facts["benchmark"]:
        message = f"the journals are for {facts['benchmark']}"
        raise input_error(benchmark.name, message, "give that benchmark")

    def largest(name: str) -> int:
        told = [campaign.get(name, "") for _, campaign, _ in sources]
        return max((int(text) for text in told if text.isdecimal() and len(text) < 10), default=1)

    every = load_items(benchmark)
    strategy = read_strategy(facts["strategy"])
    with_excerpts = strategy.retriever is not None
    if with_excerpts != (retrievals is not None):
        message = f"the journals' strategy is {facts['strategy']}"
        remedy = f"give {keyword('retrievals')}, the file that was used"
        place = retrievals or parameter("retrievals")
        raise input_error(place, message, remedy if with_excerpts else "remove it")
    prompt = facts["strategy"].rpartition("+")[0] if with_excerpts else facts["strategy"]
    prompts = list_prompts(benchmark, every[: largest("items")], prompt)
    if retrievals is not None:
        version, top_k = facts["benchmark_version"], strategy.top_k or 0
        excerpts = read_excerpts(retrievals, benchmark, version, every, top_k=top_k)
        if excerpts.retriever != strategy.retriever:
            message = (
                f"is from retriever {excerpts.retriever}; the journals used {strategy.retriever}"
            )
            raise input_error(retrievals, message, "give the file that was used")
        prompts = excerpts.before(prompts)
    return list_tasks(prompts, samples=min(largest("samples"), 10_000))


def _check_prompts(sources: list[_Source], tasks: Mapping[Slot, Task]) -> None:
    problems = []
    for path, _, replies in sources:
        for row, reply in enumerate(replies, start=1):
            slot = (reply.item_id, reply.attribute, reply.variant, reply.sample)
            if slot not in tasks:
                message = "is not a variant of the benchmark"
            elif tasks[slot].prompt_sha256 != reply.prompt_sha256:
                message = "was prompted with a text that is not the benchmark's"
            else:
                continue
            remedy = "merge with the version of the benchmark and prompts that was used"
            value = ", ".join(map(str, slot))
            problems.append(
                Problem(str(path), message, remedy, row=row, column="variant", value=value)
            )
    refuse(problems)
