"""Starts a session, and checks options that name what only loaded extensions know."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from pi.agent.tools.names import are_changes
from pi.base.errors import PiError
from pi.cli.arguments import Arguments, UsageError
from pi.coding.tools.registry import DEFAULT_TOOLS

if TYPE_CHECKING:  # only command lines with such options need them
    from pi.coding.runtime.session.agent_session import AgentSession


class ExtensionNotLoaded(PiError):
    """An extension of ``--extension`` is missing or cannot run."""


_REFUSED = "Nothing was run without the extension {}, which --extension names."
"""The reason was reported when the extension was to be loaded."""


async def start_session(
    arguments: Arguments, session: AgentSession, report: Callable[[str], None]
) -> None:
    """Start the session, and check the names that only loaded extensions know.

    After the start event, because extensions may register tools then. Raises
    ``ExtensionNotLoaded`` or ``UsageError``; unknown tools that are only left out are reported.
    """
    await session.start()
    _check_extensions(arguments, session)
    entries = session.settings.values.default_tools
    defaults = [entry.removeprefix("+") for entry in entries if not entry.startswith("-")]
    is_named = {"tools", "exclude_tools"} & arguments.options.keys()
    if not is_named and entries and session.workspace.tools.keys() >= set(entries):
        return
    tool_names = session.tools.known
    default_tools = {*tool_names, *DEFAULT_TOOLS}  # bash.enabled may have removed one
    if (only := arguments.texts("tools")) is not None:
        if not are_changes(only):
            defaults = []
        for name in _unknown_tools([name.lstrip("+-") for name in only], tool_names):
            hint = _suggest(name, tool_names) or "/extensions lists what adds tools."
            raise UsageError(f"--tools: there is no tool {name}.", hint=hint)
    # No errors: settings are shared with the original, which has other tools.
    for option, names in (
        ("--exclude-tools", arguments.texts("exclude_tools") or ()),
        ("defaultTools", defaults),
    ):
        for name in _unknown_tools(names, default_tools):
            report(
                f"Warning: {option}: there is no tool {name}. {_suggest(name, tool_names)}".rstrip()
            )
    if (only or (only is None and entries)) and not session.tools.active_names:
        option = "--tools and --exclude-tools" if is_named else "defaultTools"
        if "no_tools" not in arguments.options:
            report(f"Warning: {option} leave no tool that the model can use.")


def _check_extensions(arguments: Arguments, session: AgentSession) -> None:
    """Raise ``ExtensionNotLoaded`` if an extension of ``--extension`` was not loaded.

    A run without an extension that the user named would do something else than requested.
    """
    if not (paths := arguments.texts("extension")):
        return
    # Deferred: few command lines name extensions.
    from pi.base.files import expand_home
    from pi.coding.extension_host.discovery.finding import built_in_name
    from pi.coding.runtime.packages_here import is_package

    for text in paths:
        if built_in_name(text) is not None or is_package(text, session.cwd):
            continue
        path = session.cwd / expand_home(text, strict=False)
        if not path.exists():
            raise ExtensionNotLoaded(_REFUSED.format(path))
        if str(path) in session.extensions.foreign:
            raise ExtensionNotLoaded(
                f"Extension {path} is written for the original pi.",
                hint="Extensions for this pi are Python files: docs/how-to/write-an-extension.md.",
            )
    for info in session.extensions.infos():
        if info.state == "failed" and info.source == "cli":
            raise ExtensionNotLoaded(_REFUSED.format(info.path))


def _unknown_tools(names: Collection[str], tool_names: Collection[str]) -> Iterator[str]:
    """Yield names that belong to no tool; patterns and tools of MCP servers may match later."""
    for name in names:
        is_pattern = any(mark in name for mark in "*?[")
        if not is_pattern and not name.startswith("mcp__") and name not in tool_names:
            yield name


def _suggest(name: str, tool_names: Collection[str]) -> str:
    from pi.base.fuzzy import did_you_mean

    return did_you_mean(name, sorted(tool_names))
