from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolResult
from pi.coding.tools.bash import bash_tool
from pi.coding.tools.declarations import SCHEMAS, declared_tool
from pi.coding.tools.edit import edit_tool
from pi.coding.tools.file_tools import read_tool, write_tool
from pi.coding.tools.registry import DEFAULT_TOOLS, built_in_tools
from scripts.workspace import ROOT, import_path
from tests.coding.tools.places import make_place


def declaration(tool: AgentTool) -> dict[str, Any]:
    """The declared fields of a tool, and which optional functions it has."""
    fields = {name: getattr(tool, name) for name in tool.__struct_fields__}
    questions = {name: fields.pop(name) is not None for name in ("touches", "effects", "preview")}
    for name in ("run", "validate", "prepare_arguments"):
        fields.pop(name)
    return fields | questions


def test_a_declaration_equals_the_built_tool(tmp_path: Path) -> None:
    workspace = make_place(tmp_path)
    made = (
        read_tool(workspace.files()),
        bash_tool(workspace.shell()),
        edit_tool(workspace.files()),
        write_tool(workspace.files()),
    )
    declared = built_in_tools(workspace)

    assert [declaration(declared[tool.name].make()) for tool in made] == [
        declaration(tool) for tool in made
    ]
    assert msgspec.json.decode(SCHEMAS.read_bytes()) == {
        tool.name: tool.parameters for tool in made
    }, f"{SCHEMAS.name} must equal the schemas of the parameters"
    assert tuple(tool.name for tool in made) == DEFAULT_TOOLS


def example(calls: list[str]) -> AgentTool:
    async def run(params: Any, ctx: ToolContext) -> ToolResult:
        return ToolResult.of(f"ran {params}")

    calls.append("made")
    return AgentTool(
        name="write",
        description="",
        parameters={},
        run=run,
        validate=lambda arguments: f"valid {arguments['path']}",
        prepare_arguments=lambda arguments: {"path": arguments["file"]},
        touches=lambda params: (f"touched by {params}",),
        preview=lambda arguments: FilePreview(path=arguments["path"], added=""),
    )


async def test_a_tool_is_made_with_its_first_call_and_only_once() -> None:
    calls: list[str] = []
    tool = declared_tool("write", lambda: example(calls), changes_files=True)
    assert (tool.name, calls) == ("write", [])
    assert tool.prepare_arguments and tool.touches and tool.preview

    arguments = tool.prepare_arguments({"file": "a"})
    params = tool.validate(arguments)
    result = await tool.run(params, ToolContext(call_id="1", update=lambda result: None))

    assert (arguments, params, result) == ({"path": "a"}, "valid a", ToolResult.of("ran valid a"))
    assert tool.touches(params) == ("touched by valid a",)
    assert tool.preview(arguments) == FilePreview(path="a", added="")
    assert calls == ["made"]


def test_a_tool_without_preparation_gets_unchanged_arguments(tmp_path: Path) -> None:
    tool = built_in_tools(make_place(tmp_path))["read"].make()
    assert tool.prepare_arguments

    assert tool.prepare_arguments({"path": "a"}) == {"path": "a"}


def test_without_schemas_tools_are_made_at_once(tmp_path: Path) -> None:
    calls: list[str] = []
    declared_tool("write", lambda: example(calls), schemas=tmp_path / "schemas.json")

    assert calls == ["made"]


@pytest.mark.parametrize("tool", DEFAULT_TOOLS)
def test_declaring_a_tool_does_not_load_it(tool: str, tmp_path: Path) -> None:
    probe = f"""
import sys
from pathlib import Path
from tests.coding.tools.places import make_place
from pi.coding.tools.registry import built_in_tools
built_in_tools(make_place(Path(sys.argv[1])))[{tool!r}].make()
sys.exit("loaded" if "pi.coding.tools.{tool}" in sys.modules else 0)
"""
    finished = subprocess.run(
        [sys.executable, "-c", probe, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": import_path(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (finished.returncode, finished.stderr) == (0, "")
