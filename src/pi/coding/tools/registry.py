"""The built-in tools together: what they are made from, and what the prompt says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pi.agent.tool import AgentTool
from pi.base.records import Record
from pi.coding.files.local import LocalFiles
from pi.coding.shell.local import LocalShell
from pi.coding.tools.bash import bash_tool
from pi.coding.tools.edit import edit_tool
from pi.coding.tools.images import ImageLimits
from pi.coding.tools.programs import SearchPrograms
from pi.coding.tools.read import read_tool
from pi.coding.tools.write import write_tool

DEFAULT_TOOLS = ("read", "bash", "edit", "write")
"""Those that are on unless somebody chooses others."""
READ_ONLY_TOOLS = ("read", "grep", "find", "ls")


class BuiltIn(Record, kw_only=False):
    """A tool with the lines that the system prompt has for it."""

    make: Callable[[], AgentTool]
    snippet: str
    """One line for the list of tools."""
    guidelines: tuple[str, ...] = ()
    """Advice for the rules, as long as the tool is on."""


class Workplace(Record):
    """What tools are built from. Everything that may change in a session is asked for anew."""

    files: LocalFiles
    shell: LocalShell
    programs: SearchPrograms
    home: Path
    image_limits: Callable[[], ImageLimits] = ImageLimits
    session_variables: Callable[[], Mapping[str, str]] = dict
    """Of the bash tool alone: ``PI_SESSION_ID`` and the like."""
    bash: Callable[[], AgentTool] | None = None
    """Another bash tool, such as the extended one."""


def built_in_tools(place: Workplace) -> dict[str, BuiltIn]:
    """Every built-in tool by name, in the order in which models see them."""
    files = place.files
    bash = place.bash or partial(bash_tool, place.shell, variables=place.session_variables)
    return {
        "read": BuiltIn(
            partial(read_tool, files, image_limits=place.image_limits),
            "Show a file or a picture",
            ("Look at files with read, not with cat or sed.",),
        ),
        "bash": BuiltIn(bash, "Run a command (tests, builds, git, ls, rg, find)"),
        "edit": BuiltIn(
            partial(edit_tool, files),
            "Replace passages of a file",
            (
                "Change existing files with edit; oldText must be in the file exactly once.",
                "Put all changes to one file into one edit call. They must not overlap.",
            ),
        ),
        "write": BuiltIn(
            partial(write_tool, files),
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


# These are off unless somebody wants them, so that a start does not import them. ----------------


def _grep(place: Workplace) -> AgentTool:
    from pi.coding.tools.grep import grep_tool

    return grep_tool(place.files, place.programs, home=place.home)


def _find(place: Workplace) -> AgentTool:
    from pi.coding.tools.file_listing import FileListing
    from pi.coding.tools.find import find_tool

    return find_tool(place.files, FileListing(place.programs, home=place.home))


def _ls(place: Workplace) -> AgentTool:
    from pi.coding.tools.ls import ls_tool

    return ls_tool(place.files)
