"""Which servers start: trust, consent, files of pi and other agents; subcommands of ``/mcp``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.batteries.mcp.mcp_session import Answers, mcp_session, program, until, write_json


def files_of(tmp_path: Path) -> tuple[Path, Path]:
    """The project and the agent directory of a session."""
    return tmp_path / "home" / "project", tmp_path / "home" / ".pi" / "agent"


def started(tmp_path: Path) -> dict[str, Any]:
    """A server that leaves a file when it starts."""
    mark = tmp_path / "started"
    return {"command": "sh", "args": ["-c", f"echo x > {mark}; exit 1"]}


async def test_an_untrusted_project_starts_nothing(tmp_path: Path) -> None:
    project, _ = files_of(tmp_path)
    write_json(project / ".mcp.json", {"mcpServers": {"evil": started(tmp_path)}})
    write_json(project / ".pi" / "mcp.json", {"mcpServers": {"evil2": started(tmp_path)}})
    ui = Answers("Allow", "Allow")
    async with mcp_session(tmp_path, {}, ui=ui, approve=False) as mcp:
        assert mcp.mcp.configured == ()
    assert not (tmp_path / "started").exists() and ui.titles == []


async def test_servers_of_a_trusted_project_need_consent_again_after_a_change(
    tmp_path: Path,
) -> None:
    project, _ = files_of(tmp_path)
    file = project / ".mcp.json"
    write_json(file, {"mcpServers": {"s": program("modern")}})
    for answers, question_count in ((["Allow"], 1), ([], 0)):
        ui = Answers(*answers)
        async with mcp_session(tmp_path, {}, ui=ui, approve=True) as mcp:
            assert "mcp__s__echo" in mcp.tools
        assert len(ui.titles) == question_count
    write_json(file, {"mcpServers": {"s": program("modern", "changed")}})
    ui = Answers("Deny")
    async with mcp_session(tmp_path, {}, ui=ui, approve=True) as mcp:
        assert mcp.tools == () and mcp.mcp.denied == {"s"}
    assert "Run the MCP server s?" in ui.titles[0] and "changed" in ui.titles[0]


async def test_without_a_user_servers_that_need_consent_are_not_started(tmp_path: Path) -> None:
    project, _ = files_of(tmp_path)
    write_json(project / ".mcp.json", {"mcpServers": {"s": started(tmp_path)}})
    other = {**started(tmp_path), "env": {"K": "1"}}
    write_json(tmp_path / "home" / ".claude.json", {"mcpServers": {"t": other}})
    async with mcp_session(tmp_path, {}, approve=True) as mcp:
        assert mcp.mcp.denied == {"s", "t"}
    assert not (tmp_path / "started").exists()


async def test_a_project_cannot_start_servers_by_its_settings(tmp_path: Path) -> None:
    project, _ = files_of(tmp_path)
    settings = {"mcp": {"servers": {"evil": started(tmp_path)}}}
    write_json(project / ".pi" / "settings.json", settings)
    async with mcp_session(tmp_path, {}, ui=Answers("Allow"), approve=True) as mcp:
        assert mcp.mcp.servers == []
    assert not (tmp_path / "started").exists()


async def test_servers_in_the_file_of_the_user_start_without_consent(tmp_path: Path) -> None:
    _, agent = files_of(tmp_path)
    write_json(agent / "mcp.json", {"mcpServers": {"s": program("modern")}})
    ui = Answers()
    async with mcp_session(tmp_path, {}, ui=ui) as mcp:
        assert "mcp__s__echo" in mcp.tools and ui.titles == []


async def test_a_broken_file_is_reported_and_the_others_are_used(tmp_path: Path) -> None:
    _, agent = files_of(tmp_path)
    (agent).mkdir(parents=True)
    (agent / "mcp.json").write_text("{broken")
    ui = Answers()
    async with mcp_session(tmp_path, {"s": program("modern")}, ui=ui) as mcp:
        assert "mcp__s__echo" in mcp.tools
        assert any("mcp.json" in notice for notice in ui.notices)


async def test_subcommands_change_the_file_and_the_session(tmp_path: Path) -> None:
    _, agent = files_of(tmp_path)
    ui = Answers()
    async with mcp_session(tmp_path, {}, ui=ui) as mcp:
        run = mcp.hosted.session.prompt
        definition = program("modern")
        command = shlex.join([definition["command"], *definition["args"]])
        await run(f"/mcp add s {command}")
        await until(lambda: "mcp__s__echo" in mcp.tools)
        stored = json.loads((agent / "mcp.json").read_text())
        assert stored["mcpServers"]["s"]["command"] == definition["command"]
        assert (agent / "mcp.json").stat().st_mode & 0o077 == 0
        await run("/mcp list")
        assert "s: ready, 11 tools" in ui.notices[-1]
        await run("/mcp test s")
        assert "works: program 1, protocol 2026-07-28, 11 tools: echo, ask" in ui.notices[-1]
        await run("/mcp disable s")
        assert mcp.tools == ()
        await run("/mcp test s")
        assert "does not run: disabled" in ui.notices[-1]
        await run("/mcp enable s")
        await until(lambda: "mcp__s__echo" in mcp.tools)
        await run("/mcp prompts")
        await run("/mcp resources s")
        assert "mcp://s/note://1" in ui.notices[-1]
        await run("/mcp remove s")
        assert mcp.tools == () and mcp.mcp.configured == ()
        await run("/mcp frobnicate")
        assert ui.notices[-1].startswith("Usage: /mcp list")
        await run("/mcp remove s")
        assert "is not in" in ui.notices[-1]


@pytest.mark.parametrize("chosen", [("mcp__s__echo",), ("mcp__s_echo",), ("mcp__S__ec*",)])
async def test_tools_can_be_selected_by_name_by_older_name_and_by_pattern(
    tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    from pi.coding.runtime.options import ToolFilter

    servers = {"s": program("modern")}
    async with mcp_session(tmp_path, servers, tools=ToolFilter(only=chosen)) as mcp:
        assert mcp.tools == ("mcp__s__echo",)


async def test_a_server_is_selected_and_excluded_as_a_whole(tmp_path: Path) -> None:
    from pi.coding.runtime.options import ToolFilter

    servers = {"my-srv": program("modern"), "other": program("handshake")}
    for chosen in (ToolFilter(only=("mcp__my_srv",)), ToolFilter(without=("mcp__other__*",))):
        async with mcp_session(tmp_path, servers, tools=chosen) as mcp:
            assert mcp.tools
            assert all(name.startswith("mcp__my-srv__") for name in mcp.tools)


async def test_servers_with_equal_names_are_an_error_that_names_both_files(tmp_path: Path) -> None:
    own, other = tmp_path / "home/.pi/agent/mcp.json", tmp_path / "home/.cursor/mcp.json"
    write_json(own, {"mcpServers": {"my-srv": program("modern")}})
    write_json(other, {"mcpServers": {"my_srv": program("handshake")}})
    ui = Answers("Allow")
    async with mcp_session(tmp_path, {"fine": program("modern", "fine")}, ui=ui) as mcp:
        assert all(name.startswith("mcp__fine__") for name in mcp.tools) and mcp.tools
        for name in ("my-srv", "my_srv"):
            (notice,) = [text for text in ui.notices if f"{name} is left out" in text]
            assert str(own) in notice and str(other) in notice
