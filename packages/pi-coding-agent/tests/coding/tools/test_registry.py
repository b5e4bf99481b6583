from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pi.coding.tools.registry import DEFAULT_TOOLS, built_in_tools
from tests.coding.tools.places import make_place, text_of

STRICT = {"type": "json_schema", "strict": "prefer"}


def shape(schema: dict[str, Any]) -> Any:
    """A schema without its descriptions."""
    if "properties" in schema:
        required = set(schema.get("required", ()))
        return {
            name + ("" if name in required else "?"): shape(part)
            for name, part in schema["properties"].items()
        }
    return [shape(schema["items"])] if schema["type"] == "array" else schema["type"]


def test_declarations_equal_those_of_the_original(tmp_path: Path) -> None:
    tools = {
        name: built_in.make() for name, built_in in built_in_tools(make_place(tmp_path)).items()
    }

    assert {name: shape(tool.parameters) for name, tool in tools.items()} == {
        "read": {"path": "string", "offset?": "number", "limit?": "number"},
        "bash": {"command": "string", "timeout?": "number"},
        "edit": {"path": "string", "edits": [{"oldText": "string", "newText": "string"}]},
        "write": {"path": "string", "content": "string"},
        "grep": {
            "pattern": "string",
            "path?": "string",
            "glob?": "string",
            "ignoreCase?": "boolean",
            "literal?": "boolean",
            "context?": "number",
            "limit?": "number",
        },
        "find": {"pattern": "string", "path?": "string", "limit?": "number"},
        "ls": {"path?": "string", "limit?": "number"},
    }
    assert {name for name, tool in tools.items() if tool.constrained_sampling == STRICT} == {
        *DEFAULT_TOOLS
    }
    for tool in tools.values():
        assert tool.parameters["type"] == "object"
        assert "additionalProperties" not in tool.parameters
        assert all("description" in part for part in tool.parameters["properties"].values())
        assert tool.description.endswith(".")


def test_every_tool_has_a_line_for_the_prompt(tmp_path: Path) -> None:
    for built_in in built_in_tools(make_place(tmp_path)).values():
        assert built_in.snippet
        assert "\n" not in built_in.snippet + "".join(built_in.guidelines)


@pytest.mark.behaviour("tools-use-the-session-cwd")
async def test_all_tools_work_in_the_sessions_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, cwd = tmp_path / "other", tmp_path / "here"
    for folder in (other, cwd):
        folder.mkdir()
        (folder / f"{folder.name}.txt").write_text("text\n")
    monkeypatch.chdir(other)
    tools = {name: built_in.make() for name, built_in in built_in_tools(make_place(cwd)).items()}

    assert {
        "read": await text_of(tools["read"], path="here.txt"),
        "bash": await text_of(tools["bash"], command="ls"),
        "grep": await text_of(tools["grep"], pattern="text"),
        "find": await text_of(tools["find"], pattern="*"),
        "ls": await text_of(tools["ls"]),
    } == {
        "read": "text\n",
        "bash": "here.txt\n",
        "grep": "here.txt:1: text",
        "find": "here.txt",
        "ls": "here.txt",
    }
    await text_of(tools["write"], path="new", content="a")
    await text_of(tools["edit"], path="new", edits=[{"oldText": "a", "newText": "b"}])
    assert (cwd / "new").read_text() == "b"
    assert os.listdir(other) == ["other.txt"]  # noqa: PTH208
