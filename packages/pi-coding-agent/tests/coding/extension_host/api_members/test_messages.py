from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_an_extension_can_set_the_session_name_and_labels(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.on("session_info_changed", lambda event, ctx: received.append(event.name))

    async with extension_session(tmp_path, extension):
        (pi,) = apis
        await pi.set_session_name(" My work ")
        entry = await pi.append_entry("x")
        await pi.set_label(entry, "here")

        assert pi.get_session_name() == "My work"
        assert pi.context.session_manager.get_label(entry) == "here"
    assert received == ["My work"]


async def test_a_published_event_reaches_all_subscribers(tmp_path: Path) -> None:
    received: list[Any] = []
    apis: list[ExtensionAPI] = []

    def one(pi: ExtensionAPI) -> None:
        pi.events.on("ping", received.append)

        def broken(data: Any) -> None:
            raise ValueError("no")

        pi.events.on("ping", broken)

    async with extension_session(tmp_path, one, apis.append) as hosted:
        (pi,) = apis
        await pi.publish("ping", {"a": 1})
        await asyncio.sleep(0)

        (reported,) = hosted.emitted("ExtensionEvent")
        assert (reported.name, reported.data) == ("ping", {"a": 1})
        assert hosted.failures == ["ping: no"]
    assert received == [{"a": 1}]
