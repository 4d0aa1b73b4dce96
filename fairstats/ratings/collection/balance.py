"""A balanced incomplete assignment of raters, with evenly swapped sides."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from random import Random

#: Number of exchanges tried per judgement, and in total; the result is reported.
_TRIES = 400
_MOST_TRIES = 300_000


def balanced_loads(tasks: int, limits: Sequence[int | None], *, replicates: int) -> list[int]:
    """Return each rater's number of tasks: even within the limits, tasks × replicates in total.

    They differ by at most one, except for raters at their limit.

    Raises
    ------
    ValueError
        If the raters do not have enough capacity.

    Examples
    --------
    >>> balanced_loads(7, [None, None, 1, None], replicates=2)
    [5, 4, 1, 4]
    """
    room = [tasks if limit is None else min(limit, tasks) for limit in limits]
    if sum(room) < tasks * replicates or sum(limit > 0 for limit in room) < replicates:
        raise ValueError(
            f"capacity for {sum(room)} judgements, but {tasks * replicates} are needed"
        )
    loads = [0] * len(room)
    lightest = [(0, rater) for rater, limit in enumerate(room) if limit]
    for _ in range(tasks * replicates):
        load, rater = heapq.heappop(lightest)
        loads[rater] = load + 1
        if loads[rater] < room[rater]:
            heapq.heappush(lightest, (load + 1, rater))
    return loads


def balanced_tasks(
    tasks: int, loads: Sequence[int], *, replicates: int, rng: Random
) -> list[set[int]]:
    """Assign raters to tasks with the loads of `balanced_loads`, so that pairs meet evenly.

    Notes
    -----
    The first assignment gives each task the raters with the most remaining capacity, which always
    works out (Gale and Ryser). Then two raters of two tasks are exchanged if pairs of raters then
    meet more evenly. The sum of squared meetings never increases. Loads do not change.
    """
    left = list(loads)
    meetings = [[0] * len(loads) for _ in loads]
    chosen: list[set[int]] = []
    for _ in range(tasks):
        order = list(range(len(left)))
        rng.shuffle(order)
        order.sort(key=lambda rater: -left[rater])
        threshold = left[order[replicates - 1]]
        group = {rater for rater in order if left[rater] > threshold}
        alike = [rater for rater in order if left[rater] == threshold]
        while len(group) < replicates:
            rater = min(alike, key=lambda r: sum(meetings[r][other] for other in group))
            alike.remove(rater)
            group.add(rater)
        for rater in group:
            left[rater] -= 1
        for one, other in combinations(group, 2):
            meetings[one][other] += 1
            meetings[other][one] += 1
        chosen.append(group)
    _exchange(chosen, meetings, rng)
    return chosen


def _exchange(chosen: list[set[int]], meetings: list[list[int]], rng: Random) -> None:
    """Exchange raters as long as that makes the meetings of pairs more even."""
    counts = [meetings[a][b] for a, b in combinations(range(len(meetings)), 2)]
    if not counts or len(chosen) < 2:
        return
    cost = sum(count**2 for count in counts)
    each, over = divmod(sum(counts), len(counts))
    lowest = over * (each + 1) ** 2 + (len(counts) - over) * each**2
    for _ in range(min(_TRIES * sum(map(len, chosen)), _MOST_TRIES)):
        if cost == lowest:
            return
        here, there = rng.sample(chosen, 2)
        leaving, coming = sorted(here - there), sorted(there - here)
        if not leaving:
            continue
        out, into = rng.choice(leaving), rng.choice(coming)
        # If a rater is on both tasks, nothing changes.
        moved = [(other, out, into) for other in here - there - {out}]
        moved += [(other, into, out) for other in there - here - {into}]
        changed = sum(2 * (meetings[o][new] - meetings[o][gone] + 1) for o, gone, new in moved)
        if changed > 0:
            continue
        cost += changed
        here ^= {out, into}
        there ^= {out, into}
        for other, gone, new in moved:
            for one, by in ((gone, -1), (new, +1)):
                meetings[one][other] += by
                meetings[other][one] += by


def concurrence(chosen: Sequence[set[int]], raters: int) -> tuple[int, int]:
    """Return the fewest and the most tasks shared by two raters; (0, 0) for a single rater.

    Examples
    --------
    >>> concurrence([{0, 1}, {0, 2}, {0, 1}], 3)
    (0, 2)
    """
    meetings = dict.fromkeys(combinations(range(raters), 2), 0)
    for group in chosen:
        for pair in combinations(sorted(group), 2):
            meetings[pair] += 1
    return (min(meetings.values()), max(meetings.values())) if meetings else (0, 0)


def balanced_sides(chosen: Sequence[set[int]], rng: Random) -> dict[tuple[int, int], bool]:
    """Choose which (task, rater) see the two answers swapped: half, within one, by task and rater.

    Notes
    -----
    Tasks and raters are the two sides of a bipartite graph, and judgements its edges. One
    additional vertex on each side makes every degree even, so that the edges decompose into closed
    walks. A walk enters every vertex as often as it leaves it. An edge walked from a task to a
    rater is swapped.
    """
    edges = [
        (("task", task), ("rater", rater)) for task, group in enumerate(chosen) for rater in group
    ]
    edges.sort()
    neighbours: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for task, rater in edges:
        neighbours[task].append(rater)
        neighbours[rater].append(task)
    spare = {"task": ("rater", -1), "rater": ("task", -1)}
    for vertex in [vertex for vertex, others in neighbours.items() if len(others) % 2]:
        neighbours[vertex].append(spare[vertex[0]])
        neighbours[spare[vertex[0]]].append(vertex)
    if len(neighbours[spare["task"]]) % 2:
        neighbours[spare["task"]].append(spare["rater"])
        neighbours[spare["rater"]].append(spare["task"])
    for others in neighbours.values():
        rng.shuffle(others)
    swapped: dict[tuple[int, int], bool] = {}
    for start in list(neighbours):
        while neighbours[start]:
            # Each walk has a random direction, so the order of tasks does not matter.
            forward = rng.random() < 0.5
            here = start
            while neighbours[here]:
                there = neighbours[here].pop()
                neighbours[there].remove(here)
                from_task = here[0] == "task"
                pair = (here[1], there[1]) if from_task else (there[1], here[1])
                if -1 not in pair:
                    swapped[pair] = from_task == forward
                here = there
    return swapped
