from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import says
from pi.coding.bus import Owner
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import extension_session

OWNER = Owner(name="x", path="x.py")


async def test_two_messages_that_trigger_runs_are_processed_in_order(
    tmp_path: Path,
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("both")
        async def both(args: str, ctx: Any) -> None:
            for text in ("one", "two"):
                message = {"custom_type": "x", "content": text}
                await pi.send_message(message, trigger_turn=True)

    async with extension_session(tmp_path, extension, steps=(says("1"), says("2"))) as hosted:
        await hosted.session.prompt("/both")
        contents = [m.content for m in hosted.session.messages if isinstance(m, CustomMessage)]

        assert (contents, hosted.fixture.order.count("agent_settled")) == (["one", "two"], 1)


async def test_a_run_started_by_an_extension_ends_with_the_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("1"),)) as hosted:
        await apis[0].send_user_message("hello")
        before = asyncio.all_tasks()
        assert any(task.get_name() == "run of an extension" for task in before)
    tasks = [task.get_name() for task in asyncio.all_tasks()]
    assert "run of an extension" not in tasks
    assert hosted.fixture.reports == []


async def test_the_next_request_is_available_before_the_first_prompt(tmp_path: Path) -> None:
    async with extension_session(tmp_path, steps=(says("hi"),)) as hosted:
        before = hosted.session.prompts.next_request()
        await hosted.session.prompt("hello")
        after = hosted.session.prompts.next_request()

        requests = hosted.fixture.provider.requests
        assert len(requests) == 1
        assert tuple(before.messages) == requests[0].messages[:1]
        assert [tool.name for tool in before.tools] == list(hosted.session.active_tools)
        assert tuple(after.messages)[:-1] == requests[0].messages


async def test_a_failure_of_an_extension_is_emitted_to_subscribers(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        received: asyncio.Queue[Any] = asyncio.Queue()
        hosted.session.subscribe(received.put_nowait)
        hosted.host.failed(OWNER, "turn_end", ValueError("no"))
        async with asyncio.timeout(30):
            assert (await received.get()).extension_path == OWNER.path


async def test_pending_failures_are_emitted_when_the_session_ends(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        hosted.host.failed(OWNER, "turn_end", ValueError("no"))
    assert hosted.failures == ["turn_end: no"]


async def test_a_closed_session_leaves_no_tasks_of_extensions(tmp_path: Path) -> None:
    async with extension_session(tmp_path, steps=(says("1"),)) as hosted:
        hosted.session.prompts.start("hello", (), expand=False, meta={})
        hosted.session.http()
    names = {task.get_name() for task in asyncio.all_tasks()}

    assert not names & {"run of an extension", "extension event"}
    assert hosted.fixture.reports == []
