from __future__ import annotations

import pytest
from fairstats_collectors import campaign
from fairstats_collectors.campaign import Budget, Pace, estimate
from fairstats_collectors.models import Price

from fairstats._lib.problems import InputError
from fairstats.asking.item_prompts import Prompt
from fairstats.asking.models import Reply, Shard, Task, list_tasks
from fairstats.benchmarks.vignette_items import Item

PRICE = Price(1_000_000.0, 1_000_000.0)  # a dollar a token


def task(number: int = 0, characters: int = 40) -> Task:
    item = Item(f"item-{number}", {"A": "x"}, "A", {})
    return Task(Prompt(item, "race", "white", "x" * characters), 0)


def reply(status: str = "answered", sent: int | None = 10, back: int | None = 2) -> Reply:
    blank = dict.fromkeys(Reply._fields, "")
    return Reply(**blank)._replace(  # type: ignore[arg-type]
        status=status, prompt_tokens=sent, completion_tokens=back
    )


def test_requests_are_spread_over_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    pace = Pace(requests=60)
    assert [pace.delay(5) for _ in range(3)] == [0, 1, 2]
    now[0] = 110.0  # unused requests are not saved up
    assert [pace.delay(5) for _ in range(2)] == [0, 1]
    pace = Pace(requests=60, tokens=600)
    assert [pace.delay(n) for n in (50, 5, 5)] == [0, 5, 6]
    assert [Pace().delay(10**9) for _ in range(2)] == [0, 0]


def test_budget_counts_pending_requests_at_full_length() -> None:
    budget = Budget(PRICE, 50.0, max_tokens=10)
    first, second, third = task(1), task(2), task(3)
    assert budget.worst(first) == 10 + 10
    assert budget.take(first)
    assert budget.take(second)
    assert not budget.take(third)
    budget.pay(first, reply(back=2))
    assert budget.spent == 12
    assert not budget.take(third)  # 12 + 20 + 20
    budget.pay(second, reply(status="failed"))
    assert budget.spent == 12
    assert budget.take(third)


def test_underestimated_prompt_raises_later_cost_estimates() -> None:
    budget = Budget(PRICE, 1000.0, max_tokens=10)
    assert budget.take(task())
    budget.pay(task(), reply(sent=30))
    assert budget.worst(task(1)) == 30 + 10
    # Without token counts from the service: the estimate, and the longest reply.
    assert budget.cost(task(), reply(sent=None, back=None)) == 10 + 10


def test_cost_is_unknown_without_a_price() -> None:
    budget = Budget(None, None, max_tokens=10)
    assert budget.take(task())
    budget.pay(task(), reply())
    assert budget.spent == 0
    assert "cost unknown" in estimate([task()], 10, None)
    assert estimate([task(), task(1, 41)], 10, PRICE).endswith(
        f"at most about ${10 + 11 + 20:,.4f}"
    )


def test_shards_are_disjoint_and_complete() -> None:
    prompts = [task(number).prompt for number in range(200)]
    parts = [list_tasks(prompts, samples=2, shard=Shard(k, 3)) for k in (1, 2, 3)]
    slots = [t.slot for part in parts for t in part]
    assert sorted(slots) == sorted(t.slot for t in list_tasks(prompts, samples=2))
    assert all(30 < len(part) / 2 < 100 for part in parts)


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1/0", "1", "a/b", "-1/2", "1/2/3", "1 / 2"])
def test_invalid_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write k/n"):
        Shard.parse(text)
