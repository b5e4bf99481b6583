"""Available and active tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.define import tool
from pi.coding.prompt import ToolNote
from pi.coding.runtime.options import ToolFilter
from tests.coding.runtime.session_fixture import SessionFixture


@tool
async def sing() -> str:
    """Sing."""
    return "la"


async def names(tmp_path: Path, filter: ToolFilter) -> tuple[str, ...]:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(tools=filter)
    session._core.toolbox.add(sing)
    await session.close()
    return session._core.toolbox.active_names


@pytest.mark.parametrize(
    ("filter", "on"),
    [
        (ToolFilter(), ("read", "bash", "edit", "write", "sing")),
        (ToolFilter(only=("grep", "sing", "nope")), ("grep", "sing")),
        (ToolFilter(without=("bash", "sing")), ("read", "edit", "write")),
        (ToolFilter(built_in=False), ("sing",)),
        (ToolFilter(any=False), ()),
    ],
)
async def test_the_tool_filter_selects_the_active_tools(
    tmp_path: Path, filter: ToolFilter, on: tuple[str, ...]
) -> None:
    assert await names(tmp_path, filter) == on


async def test_tools_can_be_added_selected_and_removed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    box = session._core.toolbox
    box.add(sing, ToolNote(name="sing", snippet="Sing a song"))
    box.select(["sing", "ls", "nope"])
    assert [tool.name for tool in box.active()] == ["sing", "ls"]
    assert next(note.snippet for note in box.notes()) == "Sing a song"
    box.remove("sing")
    assert box.active_names == ("ls",)
    await session.close()
