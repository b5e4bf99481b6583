"""The table of built-in tools, with their lines for the system prompt.

Every request lists the tools, but not every answer calls one. Descriptions (``.md``) and
``schemas.json`` are therefore files of their own, and the module of a tool is imported with its
first call. A test compares ``schemas.json`` with the parameters of the tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext
from pi.ai.messages import Json
from pi.base.records import Record
from pi.coding.files.local import LocalFiles
from pi.coding.shell.local import LocalShell
from pi.coding.tools.images import ImageLimits
from pi.coding.tools.programs import SearchPrograms

PREFER_STRICT: Final[Json] = {"type": "json_schema", "strict": "prefer"}
"""Requests strict schemas from providers that support them."""


@cache
def description(tool: str) -> str:
    """Return the description of a tool; its name if the ``.md`` file is not installed."""
    try:
        return Path(__file__).with_name(f"{tool}.md").read_text(encoding="utf-8").strip()
    except OSError:  # packed into another program, without files that are not code
        return tool.replace("_", " ")


SCHEMAS = Path(__file__).with_name("schemas.json")


def declared_tool(
    name: str,
    make: Callable[[], AgentTool],
    *,
    changes_files: bool = False,
    replay: Literal["never", "safe"] = "never",
    schemas: Path = SCHEMAS,
) -> AgentTool:
    """Return a tool with its declaration; ``make`` builds the implementation at the first call."""
    try:
        parameters = msgspec.json.decode(schemas.read_bytes())[name]
    except OSError:  # packed into another program, without files that are not code
        return make()
    made = cache(make)

    async def run(params: Any, ctx: ToolContext) -> Any:
        return await made().run(params, ctx)

    def prepared(arguments: Json) -> Json:
        prepare = made().prepare_arguments
        return arguments if prepare is None else prepare(arguments)

    def touches(params: Any) -> tuple[str, ...]:
        touches = made().touches
        return () if touches is None else touches(params)

    def preview(arguments: Json) -> FilePreview | None:
        preview = made().preview
        return None if preview is None else preview(arguments)

    return AgentTool(
        name=name,
        label=name,
        description=description(name),
        parameters=parameters,
        run=run,
        validate=lambda arguments: made().validate(arguments),
        prepare_arguments=prepared,
        touches=touches if changes_files else None,
        preview=preview if changes_files else None,
        replay=replay,
        constrained_sampling=PREFER_STRICT,
        approval="write" if changes_files else "read" if replay == "safe" else "exec",
        format_approval_details=approval_details,
    )


def approval_details(arguments: Json) -> list[str]:
    """What a permission dialog shows about a call of a built-in tool."""
    named = ((name, arguments.get(name)) for name in ("command", "path", "pattern"))
    return [f"{name}: {value}" for name, value in named if isinstance(value, str) and value]


DEFAULT_TOOLS = ("read", "bash", "edit", "write")
"""Active unless the user selects others."""
READ_ONLY_TOOLS = ("read", "grep", "find", "ls")


class BuiltIn(Record, kw_only=False):
    """A tool with its lines for the system prompt."""

    make: Callable[[], AgentTool]
    snippet: str
    """One line for the list of tools."""
    guidelines: tuple[str, ...] = ()
    """Lines for the guidelines while the tool is active."""


class ToolWorkspace(Record):
    """What tools are built from. Values that may change during a session are functions."""

    files: LocalFiles
    shell: LocalShell
    programs: SearchPrograms
    home: Path
    image_limits: Callable[[], ImageLimits] = ImageLimits
    session_variables: Callable[[], Mapping[str, str]] = dict
    """Variables for the bash tool only, such as ``PI_SESSION_ID``."""


def built_in_tools(place: ToolWorkspace) -> dict[str, BuiltIn]:
    """Return every built-in tool by name, in the order of requests."""
    return {
        "read": BuiltIn(
            partial(declared_tool, "read", partial(_read, place), replay="safe"),
            "Show a file or a picture",
            ("Look at files with read, not with cat or sed.",),
        ),
        "bash": BuiltIn(
            partial(declared_tool, "bash", partial(_bash, place)),
            "Run a command (tests, builds, git, ls, rg, find)",
        ),
        "edit": BuiltIn(
            partial(declared_tool, "edit", partial(_edit, place), changes_files=True),
            "Replace passages of a file",
            (
                "Change existing files with edit; oldText must be in the file exactly once.",
                "Put all changes to one file into one edit call. They must not overlap.",
            ),
        ),
        "write": BuiltIn(
            partial(declared_tool, "write", partial(_write, place), changes_files=True),
            "Create or overwrite a file",
            ("Use write for new files and complete rewrites only.",),
        ),
        "grep": BuiltIn(
            partial(_grep, place), "Search the contents of files (respects .gitignore)"
        ),
        "find": BuiltIn(
            partial(_find, place), "Find files by a glob pattern (respects .gitignore)"
        ),
        "ls": BuiltIn(partial(_ls, place), "List a folder"),
    }


# The imports below are lazy to keep the start fast: the first four tools are declared before they
# are built, and the others are off by default.


def _read(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.read import read_tool

    return read_tool(place.files, image_limits=place.image_limits)


def _bash(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.bash import bash_tool

    return bash_tool(place.shell, variables=place.session_variables)


def _edit(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.edit import edit_tool

    return edit_tool(place.files)


def _write(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.write import write_tool

    return write_tool(place.files)


def _grep(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.grep import grep_tool

    return grep_tool(place.files, place.programs, home=place.home)


def _find(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.find import find_tool
    from pi.coding.tools.listing import FileListing

    return find_tool(place.files, FileListing(place.programs, home=place.home))


def _ls(place: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.ls import ls_tool

    return ls_tool(place.files)
