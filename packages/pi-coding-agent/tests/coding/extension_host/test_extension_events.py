from __future__ import annotations

from typing import Any

import msgspec

from pi.coding.bus import Owner
from pi.coding.extension_host.api.messages import ExtensionChannel
from pi.coding.extension_host.events.session import ExtensionEvent

ME = Owner(name="me", path="/me.py")


async def test_subscribers_of_a_name_get_its_events() -> None:
    failures: list[str] = []
    received: list[Any] = []
    bus = ExtensionChannel(lambda owner, event, error: failures.append(f"{event}: {error}"))

    async def slow(data: Any) -> None:
        received.append(("slow", data))

    def broken(data: Any) -> None:
        raise ValueError("no")

    end = bus.on("a", slow, ME)
    bus.on("a", broken, ME)
    await bus.emit("a", 1)
    end()
    await bus.emit("a", 2)
    await bus.emit("b", 3)

    assert (received, failures) == ([("slow", 1)], ["a: no", "a: no"])


def test_an_extension_event_has_one_public_type() -> None:
    assert msgspec.json.encode(ExtensionEvent(name="x", data={"a": 1})) == (
        b'{"type":"extension_event","name":"x","data":{"a":1}}'
    )
