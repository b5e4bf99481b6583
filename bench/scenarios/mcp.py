"""MCP servers: what a start costs with one, what a call costs, and how many tokens tools take."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

CALLS = 500


def starting(kind: str) -> Command:
    """A start of ``pi -p``."""
    return Command(words=python("mcp.starting", kind, "{port}"))


SCENARIOS = (
    Scenario(
        name="mcp-start-new",
        about="pi -p with one server on pipes whose tools are not known; the floor has none",
        measured=starting("new"),
        floor=starting("none"),
        metrics=(figure(0, "wall", "ms", Target(above_floor=600)),),
    ),
    Scenario(
        name="mcp-start-known",
        about="the same server in a second session, which does not start it; the floor has none",
        measured=starting("known"),
        floor=starting("none"),
        metrics=(figure(0, "wall", "ms", Target(above_floor=150)),),
    ),
    Scenario(
        name="mcp-call",
        about="a call of a tool on pipes; the floor writes and reads the lines without a client",
        measured=Command(words=python("mcp.calls", "client", CALLS)),
        floor=Command(words=python("mcp.calls", "bare", CALLS)),
        metrics=(
            figure(0, "wall per call", "ms", Target(above_floor=0.3)),
            figure(1, "tokens of 200 tools", "", Target(at_most=2000)),
        ),
    ),
)
