"""A folder with tools that work in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi.agent.tools.tool import AgentTool, ToolContext, ToolResult
from pi.coding.files.local import LocalFiles
from pi.coding.shell.environment import EnvironmentRules, command_environment
from pi.coding.shell.local import LocalShell, ShellOptions
from pi.coding.shell.spill import MAX_SPILL_BYTES, NewArtifact, SpillFolder
from pi.coding.tools.images import ImageLimits
from pi.coding.tools.programs import SearchPrograms
from pi.coding.tools.registry import ToolWorkspace, built_in_tools
from pi.testing import FakeClock


def make_shell(
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    options: ShellOptions | None = None,
    spill_folder: Path | None = None,
    new_artifact: NewArtifact = lambda: None,
    most_kept: int = MAX_SPILL_BYTES,
) -> LocalShell:
    """A shell that works in ``folder``; long outputs are saved in a folder beside it."""
    spills = spill_folder or folder.with_name(f"{folder.name}-spills")
    spills.mkdir(exist_ok=True)
    variables = dict(os.environ) if environ is None else environ
    return LocalShell(
        cwd=lambda: folder,
        environ=lambda: command_environment(variables, EnvironmentRules()),
        options=lambda: options or ShellOptions(),
        spills=SpillFolder(
            spills,
            random_bytes=os.urandom,
            clock=FakeClock(),
            new_artifact=new_artifact,
            most=most_kept,
        ),
    )


def make_place(folder: Path, *, bundled: bool = True, path: str = "") -> ToolWorkspace:
    """The workspace of tools in ``folder``; searches use programs on ``path`` and bundled ones."""
    files = LocalFiles(lambda: folder, home=str(folder.parent))
    shell = make_shell(folder)
    programs = SearchPrograms(lambda: {"PATH": path or os.devnull}, bundled=bundled)
    return ToolWorkspace(
        files=lambda: files,
        shell=lambda: shell,
        programs=lambda: programs,
        home=folder.parent,
        image_limits=ImageLimits,
    )


def make(folder: Path, tool: str) -> AgentTool:
    """A built-in tool that works in ``folder``."""
    return built_in_tools(make_place(folder))[tool].make()


async def use(
    tool: AgentTool, updates: list[ToolResult] | None = None, /, **arguments: Any
) -> ToolResult:
    """Call a tool as the agent does: arguments are prepared, validated, and the result is typed."""
    prepared = tool.prepare_arguments(arguments) if tool.prepare_arguments else arguments
    received: list[ToolResult] = [] if updates is None else updates
    result: ToolResult = await tool.run(
        tool.validate(prepared), ToolContext("call", received.append)
    )
    return result


async def text_of(tool: AgentTool, /, **arguments: Any) -> str:
    """The text of a result."""
    result = await use(tool, **arguments)
    return "".join(block.text for block in result.content if hasattr(block, "text"))
