"""Servers on pipes in real sessions: both protocol eras, their requests, and failures."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.ai.providers.faux import calls, says
from tests.batteries.mcp.mcp_session import (
    HANDSHAKE,
    Answers,
    is_running,
    mcp_session,
    program,
    text,
    until,
)
from tests.sampling import sampled

ERAS = pytest.mark.parametrize("era", ["modern", HANDSHAKE, "2024-11-05"])


@ERAS
async def test_tools_of_both_eras_are_declared_and_called(tmp_path: Path, era: str) -> None:
    async with mcp_session(tmp_path, {"s": program(era)}) as mcp:
        assert "mcp__s__echo" in mcp.tools
        first = mcp.hosted.session.messages[0]
        assert "mcp__s__echo" in str(first), "declared with the first request"
        echoed = await mcp.text("mcp__s__echo", text="hi")
        assert echoed.startswith("You said hi.") and '"said": "hi"' in echoed


@ERAS
async def test_results_have_pictures_links_and_errors(tmp_path: Path, era: str) -> None:
    async with mcp_session(tmp_path, {"s": program(era)}) as mcp:
        output = await mcp.text("mcp__s__picture")
        assert output.startswith("[image]\n[resource note://1: first")
        failed = await mcp.call("mcp__s__fail")
        assert failed.is_error and text(failed) == "It does not work."


@ERAS
async def test_a_server_can_request_roots_sampling_and_input_of_the_user(
    tmp_path: Path, era: str
) -> None:
    ui = Answers("Answer", "Ada", "36", "blue", "Yes", "Allow once", "Open the page")
    async with mcp_session(tmp_path, {"s": program(era)}, ui=ui, steps=2) as mcp:
        roots = json.loads(await mcp.text("mcp__s__ask", text="roots"))
        assert roots["roots"][0]["uri"] == mcp.pi.context.cwd.as_uri()
        form = json.loads(await mcp.text("mcp__s__ask", text="elicitation"))
        assert form == {
            "action": "accept",
            "content": {"name": "Ada", "age": 36, "colour": "blue", "sure": True},
        }
        sampled = json.loads(await mcp.text("mcp__s__ask", text="sampling"))
        assert sampled["content"] == {"type": "text", "text": "ok"}
        assert "2+2?" in ui.titles[-1]
        assert json.loads(await mcp.text("mcp__s__ask", text="page")) == {"action": "accept"}
        assert ui.opened == ["https://pay.example/1"]


async def test_sampling_is_denied_without_a_user(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern")}) as mcp:
        result = await mcp.call("mcp__s__ask", text="sampling")
        assert result.is_error and "No user can allow" in text(result)


async def test_sampling_and_input_denied_by_the_user_are_reported_to_the_server(
    tmp_path: Path,
) -> None:
    ui = Answers("Deny", "Decline")
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE)}, ui=ui) as mcp:
        assert "rejected" in await mcp.text("mcp__s__ask", text="sampling")
        assert json.loads(await mcp.text("mcp__s__ask", text="elicitation")) == {
            "action": "decline"
        }


async def test_repeated_input_requests_of_one_call_are_limited(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern", "rounds")}) as mcp:
        result = await mcp.call("mcp__s__ask", text="roots")
        assert result.is_error and "more than 10 times" in text(result)


@ERAS
async def test_resources_are_read_by_both_kinds_of_address(tmp_path: Path, era: str) -> None:
    async with mcp_session(tmp_path, {"s": program(era)}) as mcp:
        listed = await mcp.text("read", path="mcp://s")
        assert "mcp://s/note://{id}/page (template)" in listed
        for path in ("mcp://s/note://1", "note://1", "note://7/page"):
            uri = path.removeprefix("mcp://s/")
            assert await mcp.text("read", path=path) == f"content of {uri}"
        assert "Unknown MCP server 'x'" in await mcp.text("read", path="mcp://x/note://1")


@ERAS
async def test_progress_is_shown_while_a_call_runs(tmp_path: Path, era: str) -> None:
    updates: list[str] = []
    async with mcp_session(tmp_path, {"s": program(era)}) as mcp:
        result = await mcp.pi.call_tool(
            "mcp__s__progress", {}, update=lambda update: updates.append(text(update))
        )
        assert text(result) == "done" and updates == ["1 of 2", "2 of 2"]


async def test_a_url_required_by_a_call_is_opened_and_the_call_is_retried(tmp_path: Path) -> None:
    ui = Answers("Open the page")
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE)}, ui=ui) as mcp:
        assert await mcp.text("mcp__s__pay") == "paid"
        assert ui.opened == ["https://pay.example/1"]


async def test_prompts_of_servers_are_slash_commands(tmp_path: Path) -> None:
    ui = Answers("a topic")
    async with mcp_session(tmp_path, {"s": program("modern")}, ui=ui, steps=3) as mcp:
        await until(lambda: any(command.name == "s:write" for command in mcp.pi.get_commands()))
        await mcp.hosted.session.prompt('/s:write "big whales" tone=dry')
        await mcp.hosted.session.prompt("/s:write")
        assert await mcp.mcp.prompts.complete("s:write", "wh") == ["whales", "whisky"]
        assert await mcp.mcp.prompts.complete("s:write", "x tone=wi") == ["x tone=wine"]
        sent = [str(message) for message in mcp.hosted.session.messages]
        assert any('"tone": "dry", "topic": "big whales"' in message for message in sent)
        assert any('"topic": "a topic"' in message for message in sent)


async def test_a_list_of_several_pages_is_read_whole(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE, "pages")}) as mcp:
        assert {"mcp__s__first", "mcp__s__echo"} <= {*mcp.tools}


async def test_new_tools_of_a_running_server_are_registered(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE)}) as mcp:
        assert await mcp.text("mcp__s__grow") == "grown"
        await until(lambda: "mcp__s__grown" in mcp.tools)


# Faults -------------------------------------------------------------------------------------------


async def test_a_server_that_dies_in_a_call_is_explained_and_started_again(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern")}, ui=Answers()) as mcp:
        result = await mcp.call("mcp__s__die")
        assert result.is_error
        assert "ended with exit code 3. Its last line: out of memory" in text(result)
        assert "You said again" in await mcp.text("mcp__s__echo", text="again")
        assert mcp.ui is not None and len(mcp.ui.notices) == 1


@pytest.mark.behaviour("mcp-timeouts")
async def test_a_call_without_an_answer_times_out(tmp_path: Path) -> None:
    slow = {**program("modern"), "timeout": 100}
    async with mcp_session(tmp_path, {"s": slow}) as mcp:
        result = await mcp.call("mcp__s__hang")
        assert result.is_error and "did not answer tools/call within 0.1 s" in text(result)
        assert "You said still" in await mcp.text("mcp__s__echo", text="still")


async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    ui = Answers()
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE)}, ui=ui) as mcp:
        task = asyncio.ensure_future(mcp.call("mcp__s__hang"))
        await mcp.text("mcp__s__echo")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await mcp.text("mcp__s__echo")
        await mcp.hosted.session.prompt("/mcp log s")
        assert "info: cancelled" in ui.notices[-1]


@pytest.mark.full
async def test_a_silent_server_does_not_hold_up_the_conversation(tmp_path: Path) -> None:
    silent = {**program("modern", "silent"), "startupTimeout": 200}
    ui = Answers()
    servers = {"bad": silent, "good": program("modern")}
    async with mcp_session(tmp_path, servers, ui=ui) as mcp:
        assert "mcp__good__echo" in mcp.tools
        assert any(
            "bad did not answer within 0.2 s of its start" in notice for notice in ui.notices
        )


async def test_a_server_that_cannot_start_is_reported_once(tmp_path: Path) -> None:
    ui = Answers()
    servers = {"gone": {"command": "/no/such/program"}, "exits": program("modern", "exit")}
    async with mcp_session(tmp_path, servers, ui=ui, steps=2) as mcp:
        await mcp.hosted.session.prompt("again")
        assert len(ui.notices) == 2
        assert any("there is no such program" in notice for notice in ui.notices)
        assert any("no configuration" in notice for notice in ui.notices)


@pytest.mark.parametrize(
    "fault", ["garbage", "flood", "strict", pytest.param("deluge", marks=pytest.mark.full)]
)
async def test_invalid_output_and_strict_initialisation_are_tolerated(
    tmp_path: Path, fault: str
) -> None:
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE, fault)}) as mcp:
        assert "You said x" in await mcp.text("mcp__s__echo", text="x")


async def test_a_second_answer_is_ignored(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern")}) as mcp:
        assert await mcp.text("mcp__s__twice") == "first"
        assert "You said x" in await mcp.text("mcp__s__echo", text="x")


@pytest.mark.parametrize("size", [1_000_000, pytest.param(20_000_000, marks=pytest.mark.full)])
async def test_a_large_result_is_cut_and_stored(tmp_path: Path, size: int) -> None:
    async with mcp_session(tmp_path, {"s": program("modern")}) as mcp:
        output = await mcp.text("mcp__s__big", text=str(size))
        assert len(output) < 101_000
        assert f"{size:,} characters and was cut. The whole text is in artifact://" in output


async def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    ui = Answers()
    async with mcp_session(tmp_path, {"s": program(HANDSHAKE, "version")}, ui=ui):
        assert any("'1999-01-01'" in notice for notice in ui.notices)


@pytest.mark.parametrize("fault", sampled(["orphan", "stubborn"], keep=1))
async def test_child_processes_of_a_server_are_ended_with_the_session(
    tmp_path: Path, fault: str
) -> None:
    async with mcp_session(tmp_path, {"s": program("modern", fault, "orphan")}) as mcp:
        await mcp.text("mcp__s__echo")
        server = mcp.server("s")
        child = int(" ".join(server.lines).partition("child ")[2].split()[0])
        assert is_running(child)
    assert not is_running(child)


async def test_many_tools_are_searched_for(tmp_path: Path) -> None:
    many = program("modern", "many")
    async with mcp_session(tmp_path, {"s": many}) as mcp:
        assert mcp.tools == ()
        assert "tool_search" in mcp.pi.get_active_tools()
        output = await mcp.text("tool_search", query="tool_17")
        assert "mcp__s__tool_17" in output
        assert "mcp__s__tool_17" in mcp.tools and len(mcp.tools) <= 8


async def test_a_tool_that_was_found_can_be_called_in_the_same_run(tmp_path: Path) -> None:
    steps = (calls("tool_search", query="tool_17"), calls("mcp__s__tool_17"), says("done"))
    async with mcp_session(tmp_path, {"s": program("modern", "many")}, steps=steps) as mcp:
        results = [
            message for message in mcp.hosted.session.messages if "unknown tool" in str(message)
        ]
        assert len(results) == 1, "the server has answered"


async def test_known_tools_are_declared_without_starting_the_server(tmp_path: Path) -> None:
    servers = {"s": program("modern")}
    async with mcp_session(tmp_path, servers) as mcp:
        store = mcp.pi.store("global")
        key = mcp.server("s").configured.definition.digest
        await until(lambda: store.get(key) is not None)
    async with mcp_session(tmp_path, servers, steps=2) as mcp:
        assert "mcp__s__echo" in mcp.tools
        assert mcp.server("s").state == "idle"
        assert "You said x" in await mcp.text("mcp__s__echo", text="x")
