from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import StaleSession
from tests.coding.extension_host.extension_session import extension_session


@pytest.mark.behaviour("stale-handles-raise")
async def test_handles_of_a_replaced_session_are_stale(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        number = len(apis)
        apis.append(pi)
        pi.events.on("ping", lambda data: received.append(f"{number} {data}"))
        pi.on("session_start", lambda event, ctx: received.append(f"{number} {event.reason}"))
        pi.on(
            "session_shutdown", lambda event, ctx: received.append(f"{number} ends {event.reason}")
        )
        pi.on(
            "session_switch", lambda event, ctx: received.append(f"{number} switch {event.reason}")
        )

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.new_session()
        await apis[1].events.emit("ping", "x")

        for use in (
            lambda: apis[0].context.cwd,
            lambda: apis[0].context.is_idle(),
            lambda: apis[0].get_active_tools(),
        ):
            with pytest.raises(StaleSession, match="a session that has ended"):
                use()
        assert apis[1].context.cwd == hosted.fixture.cwd

    assert received == ["0 startup", "0 ends new", "1 switch new", "1 new", "1 x", "1 ends quit"]


@pytest.mark.behaviour("extensions-load-once")
async def test_extensions_load_once_at_the_start_and_get_session_start(
    tmp_path: Path,
) -> None:
    reported: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        reported.append("loaded")

        @pi.on("session_start")
        async def start(event: Any, ctx: Any) -> None:
            reported.append(f"started {ctx.mode}")
            await pi.send_message({"custom_type": "hello", "content": "once"})

    async with extension_session(tmp_path, extension) as hosted:
        assert [message.content for message in hosted.session.messages] == ["once"]  # type: ignore[union-attr]
    assert reported == ["loaded", "started print"]


async def test_tasks_of_an_extension_are_cancelled_when_the_session_is_replaced(
    tmp_path: Path,
) -> None:
    ended: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("task")

        pi.scope.spawn(work(), name="work")

    async with extension_session(tmp_path, extension) as hosted:
        await asyncio.sleep(0)
        await hosted.session.new_session()
        assert ended == ["task"]
    # The task of the second session was cancelled before its first step.
