"""Events between extensions, and those that they tell the world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pi.base.records import Record
from pi.coding.extension_host.failures import contained
from pi.coding.extension_host.order import Owner, Rows


class ExtensionEvent(Record, tag="extension_event"):
    """What an extension tells clients, in order with everything else."""

    name: str
    data: Any = None


class EventBus:
    """Whoever listens to a name hears what others emit under it."""

    def __init__(self, failed: Callable[[Owner, str, BaseException], None]) -> None:
        self._rows: dict[str, Rows[Callable[[Any], Any]]] = {}
        self._failed = failed

    def on(self, name: str, listener: Callable[[Any], Any], owner: Owner) -> Callable[[], None]:
        """Have ``listener`` called with what is emitted; gives what ends that."""
        return self._rows.setdefault(name, Rows()).add(listener, owner)

    async def emit(self, name: str, data: Any = None) -> None:
        """Until everybody has heard it."""
        for row in self._rows.get(name, ()):
            try:
                await contained(partial(row.value, data))
            except Exception as problem:
                self._failed(row.owner, name, problem)
