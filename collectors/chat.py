"""Ask a chat model every variant of every item, over any OpenAI-compatible service."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.batch import has_batch, run_batch
from collectors.campaign import Campaign, noted_names
from collectors.checking import answers_path, check_numbers, check_writable, version_of, wrong
from collectors.clients import endpoint_of, in_a_loop, make_client
from collectors.compaction import Slot, answer_rows, check_replaceable, reconcile
from collectors.embedded import EMBEDDED, EMBEDDED_MODEL, serve_embedded
from collectors.endings import unfinished
from collectors.excerpts import read_excerpts
from collectors.items import STRATEGIES, list_prompts, load_items
from collectors.journal import SUFFIX, Journal, Reply
from collectors.limits import Budget, Pace, Price, estimate
from collectors.models import KnownModel, find_model
from collectors.progress import show_progress
from collectors.service import Service
from collectors.tasks import Shard, Task, list_tasks
from fairstats.answers import write_answers
from fairstats.benchmarks import Benchmark
from fairstats.problems import InputError

if TYPE_CHECKING:
    import openai


#: How many snippets stand in a prompt, where nothing else is said.
TOP_K = 10


def collect(
    benchmark: Benchmark,
    *,
    model: str,
    out: Path,
    strategy: str = "plain",
    retrievals: Path | None = None,
    top_k: int | None = None,
    base_url: str | None = None,
    benchmark_version: str | None = None,
    model_name: str | None = None,
    max_tokens: int | None = None,
    temperature: float = 0,
    samples: int = 1,
    concurrency: int = 8,
    limit: int | None = None,
    shard: str | None = None,
    rpm: int | None = None,
    tpm: int | None = None,
    price: tuple[float, float] | None = None,
    max_cost: float | None = None,
    timeout: float = 120,
    retries: int = 5,
    keep_failures: bool = False,
    batch: bool = False,
    poll_s: float = 30,
    dry_run: bool = False,
    progress: bool = True,
) -> Path:
    """Collect a model's answers to a benchmark into one parquet file.

    Each variant of each item is asked in a conversation of its own. Every reply is committed to a
    journal beside the answers before it counts; starting again asks only what is missing, and what
    failed. A request that fails for good (after the client's own retries) becomes a row of status
    ``error`` with the reason in ``answer_raw``.

    Parameters
    ----------
    benchmark : Benchmark
        What to ask; its vignettes must be shipped.
    model : str
        A name of ``collectors/models.toml``, the model's name at the service, or ``"embedded"``
        for the small model that runs here.
    out : Path
        The folder to write to.
    strategy : str
        How to ask: one of `collectors.items.STRATEGIES`.
    retrievals : Path, optional
        A file of ``fairstats retrieve``: each prompt stands behind the snippets that were found
        for its vignette, and the strategy is called by it, as in ``plain+bm25@10``.
    top_k : int, optional
        How many snippets at most, by default `TOP_K`; a variant for which none was found is asked
        without.
    base_url : str, optional
        The service; by default that of ``models.toml``, ``OPENAI_BASE_URL``, or OpenAI's own. The
        key comes from ``OPENAI_API_KEY`` or the variable that ``models.toml`` names; a service
        named by its address may go without one.
    benchmark_version : str, optional
        The version of the benchmark that the items are; needed where it declares several.
    model_name : str, optional
        What to call the model in the answers, by default `model`.
    max_tokens : int, optional
        The longest reply, by default the strategy's in `STRATEGIES`.
    temperature : float
        Sent where the service takes it.
    samples : int
        How often to ask each variant; the number of the sample, from 0, is sent as the seed.
    concurrency : int
        How many requests are under way at once. The embedded model takes one at a time.
    limit : int, optional
        Ask the first so many items only, each in all its variants.
    shard : str, optional
        ``k/n``: ask the k-th of n parts of the items only, into a journal of its own, for
        `collectors.merging.merge`.
    rpm, tpm : int, optional
        The most requests, and the most tokens, a minute.
    price : tuple of float, optional
        Dollars for a million prompt and completion tokens, by default those of ``models.toml``.
    max_cost : float, optional
        The most that the whole campaign may cost, in dollars; needs a price.
    timeout : float
        Seconds until a request that gets no reply is asked again.
    retries : int
        How often a request is asked again by the client, which waits as long as the service says.
    keep_failures : bool
        Whether requests that failed for good in an earlier run are left as they are.
    batch : bool
        Ask through the service's Batch API (``/files`` and ``/batches``).
    poll_s : float
        Seconds between two looks at a batch.
    dry_run : bool
        Print what would be asked and what it may cost, and ask nothing.
    progress : bool
        Whether to show a progress bar on the standard error output.

    Returns
    -------
    Path
        ``<out>/<benchmark>-<version>-<model>-<strategy>.parquet``, with the rows in the order of
        the items and, within an item, of the benchmark's groups and samples. Of a shard, its
        journal.

    Raises
    ------
    Unfinished
        When the budget is spent, the disk full, or the service turns every request away; what
        was answered is in the journal.
    InputError
        When an argument cannot be used, other answers are there already, the service cannot be
        reached or turns the first request away (key, model, quota), or answers none at all.
    KeyboardInterrupt
        After Ctrl-C; what was answered is in the journal.
    """
    check_numbers(
        max_tokens=max_tokens,
        samples=samples,
        concurrency=concurrency,
        limit=limit,
        rpm=rpm,
        tpm=tpm,
    )
    if not 0 < timeout < float("inf"):
        raise wrong(f"timeout = {timeout}", "is no time to wait", "use a number of seconds")
    for argument, number in (("temperature", temperature), ("retries", retries)):
        if not 0 <= number < float("inf"):
            raise wrong(f"{argument} = {number}", "must not be negative", "use 0 or more")
    version = version_of(benchmark, benchmark_version)
    part = Shard.parse(shard) if shard else None
    every = load_items(benchmark)
    items = every[:limit]
    prompts = list_prompts(benchmark, items, strategy)
    excerpts = None
    if retrievals is None and top_k is not None:
        raise wrong(f"top_k = {top_k}", "no retrievals to ask with are named", "name their file")
    if retrievals is not None:
        deepest = TOP_K if top_k is None else top_k
        excerpts = read_excerpts(retrievals, benchmark, version, every, top_k=deepest)
        prompts = excerpts.before(prompts)
    tasks = list_tasks(prompts, samples=samples, shard=part)
    if not tasks:
        raise wrong(f"shard = {shard!r}", "holds no item", "use fewer parts")
    here = model == EMBEDDED and base_url is None
    known = KnownModel(EMBEDDED_MODEL) if here else find_model(model, base_url=base_url)
    facts = {
        "benchmark": benchmark.name,
        "benchmark_version": version,
        "model": model_name or (EMBEDDED_MODEL if here else model),
        "strategy": excerpts.strategy(strategy) if excerpts else strategy,
    }
    check_writable(tasks, facts)
    path = answers_path(out, facts)
    longest = (max_tokens or STRATEGIES[strategy]) + known.thinking
    if price is not None:
        known = replace(known, price=Price(*price))
    if max_cost is not None and known.price is None:
        remedy = "name it with price (--price PROMPT,COMPLETION, dollars for a million tokens)"
        raise wrong(f"max_cost = {max_cost}", f"no price is known for {model}", remedy)
    budget = Budget(known.price, max_cost, longest)
    if excerpts and (without := sum(task.variant not in excerpts.blocks for task in tasks)):
        print(f"{without:,} of {len(tasks):,} prompts have no excerpt", file=sys.stderr)
    if dry_run:
        print(estimate(tasks, longest, known.price), "", _printable(tasks[0].prompt.text), sep="\n")
        return path
    with ExitStack() as stack:
        journal = stack.enter_context(_journal(path, facts, part))
        journal.note("items", str(len(items)))
        journal.note("samples", str(samples))
        if excerpts:
            journal.note("corpus_sha256", excerpts.corpus_sha256)
        if here:
            embedded = stack.enter_context(serve_embedded())
            known = replace(known, model=embedded.model, base_url=embedded.base_url)
            concurrency = 1  # it has one slot: a second request would only wait
            endpoint = f"{EMBEDDED}/{embedded.snapshot}"  # its port is another every time
            client, hide = make_client(known.base_url, key="", proxies=False)
        else:
            client, hide = _client(known, timeout=timeout, retries=retries)
            endpoint = hide(endpoint_of(str(client.base_url)))
        service = Service(
            client,
            model=known.model,
            endpoint=endpoint,
            # 0 and 0.0 are the same setting, and have to be the same in a reply's key.
            settings={
                "temperature": int(temperature) if temperature == int(temperature) else temperature,
                "max_tokens": longest,
            },
            names=known.names,
            hide=hide,
            key_variable=known.key_variable,
        )
        noted = noted_names(journal, service)
        service.names.update(noted or {})
        there = _replies(service, tasks, journal)
        check_replaceable(path, tasks, there)
        kept = {"answered", "refused", *(["failed"] if keep_failures else [])}
        missing = [t for t in tasks if t.slot not in there or there[t.slot].status not in kept]
        budget.spent = sum(budget.cost(t, there[t.slot]) for t in tasks if t.slot in there)
        if missing:
            pace = Pace(rpm, tpm)
            campaign = Campaign(service, journal, pace=pace, budget=budget, concurrency=concurrency)
            if batch:
                _run_batch(campaign, missing, noted is None, poll_s=poll_s, shown=progress)
            else:
                with show_progress(
                    facts["model"],
                    total=len(tasks),
                    there=len(tasks) - len(missing),
                    budget=budget,
                    shown=progress,
                ) as campaign.counted:
                    in_a_loop(campaign.run(missing, settle=noted is None))
            there = _replies(service, tasks, journal)
            result = reconcile(tasks, there)
            if progress:
                print(result, file=sys.stderr)
            if result.missing or (campaign.stopped and result.failed):
                raise unfinished(campaign, result)
            if not result.answered:
                reason = there[tasks[0].slot].text
                problem = service.problem(reason, "no request was answered; none was kept")
                raise InputError([problem])
        if part is not None:
            return journal.path
        if missing or not path.exists():
            write_answers(answer_rows(tasks, there, facts), path)
        return path


@contextmanager
def _journal(path: Path, facts: Mapping[str, str], shard: Shard | None) -> Iterator[Journal]:
    """The journal beside the answers; one in which nothing is does not stay."""
    part = f"-shard-{shard.number}-of-{shard.of}" if shard else ""
    campaign = {**facts, "shard": f"{shard.number}/{shard.of}" if shard else "1/1"}
    with Journal(path.with_name(f"{path.stem}{part}{SUFFIX}"), campaign) as journal:
        try:
            yield journal
        finally:
            failed = all(reply.status == "failed" for reply in journal.replies().values())
            if failed and not has_batch(journal):
                journal.discard()


def _client(
    known: KnownModel, *, timeout: float, retries: int
) -> tuple[openai.AsyncOpenAI, Callable[[str], str]]:
    key = os.environ.get(known.key_variable, "").strip()
    if known.snapshot and not key:
        raise wrong(known.key_variable, "is not set", f"set it to the key for {known.model}")
    return make_client(
        known.base_url or os.environ.get("OPENAI_BASE_URL") or None,
        key=key,
        key_variable=known.key_variable,
        timeout=timeout,
        retries=retries,
    )


def _replies(service: Service, tasks: list[Task], journal: Journal) -> dict[Slot, Reply]:
    """What the journal holds of these tasks, asked as they would be now."""
    replies = journal.replies()
    found = {task.slot: replies.get(service.key(task)) for task in tasks}
    return {slot: reply for slot, reply in found.items() if reply is not None}


def _printable(text: str) -> str:
    """Text whose signs do not steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _run_batch(
    campaign: Campaign, tasks: list[Task], settle: bool, *, poll_s: float, shown: bool
) -> None:
    import openai

    budget, service, journal = campaign.budget, campaign.service, campaign.journal
    most = budget.spent + sum(budget.worst(task) for task in tasks)
    if budget.max_cost is not None and most > budget.max_cost and not has_batch(journal):
        return campaign.stop("budget")

    def say(text: str) -> None:
        if shown:
            print(text, file=sys.stderr)

    try:
        in_a_loop(run_batch(service, journal, tasks, settle=settle, poll_s=poll_s, say=say))
        return None
    except KeyboardInterrupt:
        return campaign.stop("interrupted")  # the batch itself goes on
    except openai.OpenAIError as error:
        said = service.hide(f"{type(error).__name__}: {error}")
    raise InputError([service.problem(said, "see whether the service has a Batch API")])
