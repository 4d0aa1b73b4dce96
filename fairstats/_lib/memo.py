"""Results that an object computes once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Keeps results that are computed from an object, also a frozen one."""

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per key. Do not change it."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found
