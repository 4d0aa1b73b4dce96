"""Ask a chat model every variant of every item, over any OpenAI-compatible service."""

from __future__ import annotations

import sys
from pathlib import Path

from collectors.asking import ask_tasks, open_journal, terms_of
from collectors.checking import answers_path, check_numbers, check_writable, version_of, wrong
from collectors.compaction import answer_rows, check_replaceable
from collectors.embedded import EMBEDDED_MODEL
from collectors.excerpts import read_excerpts
from collectors.items import STRATEGIES, list_prompts, load_items
from collectors.tasks import Shard, list_tasks
from fairstats.answers import write_answers
from fairstats.benchmarks import Benchmark

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
    check_numbers(max_tokens=max_tokens, samples=samples, limit=limit)
    terms = terms_of(
        model,
        # A strategy that is unknown is told of below, with those that there are.
        max_tokens=max_tokens or STRATEGIES.get(strategy, 1),
        base_url=base_url,
        temperature=temperature,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=price,
        max_cost=max_cost,
        timeout=timeout,
        retries=retries,
        keep_failures=keep_failures,
        batch=batch,
        poll_s=poll_s,
        progress=progress,
    )
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
    facts = {
        "benchmark": benchmark.name,
        "benchmark_version": version,
        "model": model_name or (EMBEDDED_MODEL if terms.here else model),
        "strategy": excerpts.strategy(strategy) if excerpts else strategy,
    }
    check_writable(tasks, facts)
    path = answers_path(out, facts)
    if excerpts and (without := sum(task.variant not in excerpts.blocks for task in tasks)):
        print(f"{without:,} of {len(tasks):,} prompts have no excerpt", file=sys.stderr)
    if dry_run:
        terms.print_estimate(tasks)
        return path
    with open_journal(path, facts, part) as journal:
        journal.note("items", str(len(items)))
        journal.note("samples", str(samples))
        if excerpts:
            journal.note("corpus_sha256", excerpts.corpus_sha256)
        there, asked = ask_tasks(
            tasks,
            journal,
            terms,
            title=facts["model"],
            check=lambda there: check_replaceable(path, tasks, there),
        )
        if part is not None:
            return journal.path
        if asked or not path.exists():
            write_answers(answer_rows(tasks, there, facts), path)
        return path
