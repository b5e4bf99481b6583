"""The table of built-in tools, with their lines for the system prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.tools.tool import AgentTool
from pi.base.records import Record
from pi.coding.tools.declarations import declared_tool

if TYPE_CHECKING:  # types only: starting pi builds no tool
    from pi.coding.files.local import LocalFiles
    from pi.coding.shell.local import LocalShell
    from pi.coding.tools.images import ImageLimits
    from pi.coding.tools.programs import SearchPrograms

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
    """The dependencies of the built-in tools.

    Functions return objects that are built at their first use, and values that may change during a
    session.
    """

    files: Callable[[], LocalFiles]
    shell: Callable[[], LocalShell]
    programs: Callable[[], SearchPrograms]
    home: Path
    image_limits: Callable[[], ImageLimits]
    session_variables: Callable[[], Mapping[str, str]] = dict
    """Variables for the bash tool only, such as ``PI_SESSION_ID``."""


def built_in_tools(workspace: ToolWorkspace) -> dict[str, BuiltIn]:
    """Return every built-in tool by name, in the order of requests."""
    return {
        "read": BuiltIn(
            partial(declared_tool, "read", partial(_read, workspace), replay="safe"),
            "Show a file or a picture",
            ("Look at files with read, not with cat or sed.",),
        ),
        "bash": BuiltIn(
            partial(declared_tool, "bash", partial(_bash, workspace)),
            "Run a command (tests, builds, git, ls, rg, find)",
        ),
        "edit": BuiltIn(
            partial(declared_tool, "edit", partial(_edit, workspace), changes_files=True),
            "Replace passages of a file",
            (
                "Change existing files with edit; oldText must be in the file exactly once.",
                "Put all changes to one file into one edit call. They must not overlap.",
            ),
        ),
        "write": BuiltIn(
            partial(declared_tool, "write", partial(_write, workspace), changes_files=True),
            "Create or overwrite a file",
            ("Use write for new files and complete rewrites only.",),
        ),
        "grep": BuiltIn(
            partial(_grep, workspace), "Search the contents of files (respects .gitignore)"
        ),
        "find": BuiltIn(
            partial(_find, workspace), "Find files by a glob pattern (respects .gitignore)"
        ),
        "ls": BuiltIn(partial(_ls, workspace), "List a folder"),
    }


# The imports below are lazy to keep the start fast: the first four tools are declared before they
# are built, and the others are off by default.


def _read(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.file_tools import read_tool

    return read_tool(workspace.files(), image_limits=workspace.image_limits)


def _bash(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.bash import bash_tool

    return bash_tool(workspace.shell(), variables=workspace.session_variables)


def _edit(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.edit import edit_tool

    return edit_tool(workspace.files())


def _write(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.file_tools import write_tool

    return write_tool(workspace.files())


def _grep(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.search_tools import grep_tool

    return grep_tool(workspace.files(), workspace.programs(), home=workspace.home)


def _find(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.listing import FileListing
    from pi.coding.tools.search_tools import find_tool

    return find_tool(workspace.files(), FileListing(workspace.programs(), home=workspace.home))


def _ls(workspace: ToolWorkspace) -> AgentTool:
    from pi.coding.tools.search_tools import ls_tool

    return ls_tool(workspace.files())
