"""Connects the servers to a session: events, settings and ``/mcp``."""

from __future__ import annotations

from typing import Any

from pi.batteries.mcp.commands import WORDS, McpCommands
from pi.batteries.mcp.session import SessionMcp
from pi.extension import (
    ExtensionAPI,
    ExtensionContext,
    InputEvent,
    ModelSelectEvent,
    SessionShutdownEvent,
    SessionStartEvent,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("mcp.enabled", bool, False, "use MCP servers, also without an mcp.json of pi"),
    ("mcp.servers", dict[str, Any], {}, "MCP servers by name, as in mcp.json"),
    ("mcp.enableProjectConfig", bool, True, "offer MCP servers of project files"),
    ("mcp.notifications", bool, False, "inform the model about changes of resources it has read"),
    ("mcp.notificationDebounceMs", int, 500, "milliseconds that changes of lists are collected"),
    ("mcp.maxOutputTokens", int, 25_000, "tokens of a result that reach the model"),
    ("mcp.clientMetadataUrl", str, "", "address of an OAuth client metadata document"),
)


def extension(pi: ExtensionAPI) -> SessionMcp:
    """Register the servers, their tools and ``/mcp``. Returns the servers of the session."""
    pi.settings.declare_all(SETTINGS)
    session = SessionMcp(pi)
    commands = McpCommands(session)

    def session_start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        # Print and JSON mode begin with the input; ``pi mcp list`` has none and starts nothing.
        if ctx.mode in ("tui", "rpc"):
            session.open()

    async def input(event: InputEvent, ctx: ExtensionContext) -> None:
        # Not before_agent_start: the tools of a run are chosen before that.
        await session.wait()

    async def session_shutdown(event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        await session.shut_down()

    def model_select(event: ModelSelectEvent, ctx: ExtensionContext) -> None:
        session.model_changed()

    pi.on("session_start", session_start)
    pi.on("input", input)
    pi.on("session_shutdown", session_shutdown)
    pi.on("model_select", model_select)
    pi.register_command(
        "mcp",
        commands.run,
        description="MCP servers: list, add, remove, enable, disable, test, reconnect, resources",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    return session
