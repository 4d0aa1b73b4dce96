"""Copies of this process, which share what it has in memory (Linux), and stages of long tasks."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any

from fairstats._lib.problems import RenderError

#: The number of this option of Linux (linux/prctl.h).
_PR_SET_PDEATHSIG = 1


def cores() -> int:
    """Return the number of processes that can work at once; 1 if a process cannot be copied."""
    return (os.cpu_count() or 1) if sys.platform == "linux" else 1


@contextmanager
def in_copy(work: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Do work in a copy of this process, which ends with the block.

    `work` returns what is wanted, which is pickled.

    Yields
    ------
    callable
        Waits for the copy, and returns the result; None if the copy failed, e.g. for lack of
        memory.
    """
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        _end_with_parent()
        # The caller does failed work again, and reports its errors.
        with suppress(Exception):
            sender.send(work())

    process = context.Process(target=run)
    with _frozen():
        process.start()
    sender.close()

    def result() -> Any:
        with suppress(EOFError):
            return receiver.recv()
        return None

    try:
        yield result
    finally:
        process.kill()
        process.join()
        receiver.close()


@contextmanager
def pool_of_copies(task: str) -> Iterator[ProcessPoolExecutor]:
    """Give as many copies of this process as there are cores; an error names their task."""
    # Waiting copies would outlive a killed process, and keep its output open.
    pool = ProcessPoolExecutor(
        cores(), mp_context=get_context("fork"), initializer=_end_with_parent
    )
    try:
        with _frozen():
            yield pool
    except BrokenProcessPool as error:
        message = f"A process that {task} ended: the system may have too little memory"
        raise RenderError(message) from error
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _frozen() -> Iterator[None]:
    """Do not look for unused objects among those of now: copies would need memory of their own."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def give_memory_back() -> None:
    """Give freed memory back to the system; the C library and arrow keep it for later."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    # Only glibc has it.
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


def _end_with_parent() -> None:
    """Let this process be killed when the one that started it ends, even if that is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


#: Called with a stage's name, the number of its parts that are done, and of all (0 if unknown).
Watch = Callable[[str, int, int], None]


def unwatched(stage: str, done: int = 0, parts: int = 0) -> None:
    """Take no notice of a stage."""
