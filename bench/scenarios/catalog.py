"""All scenarios, in the order of the table."""

from __future__ import annotations

from bench.scenario import Scenario
from bench.scenarios import (
    agent,
    bare,
    broker,
    extensions,
    interactive,
    kernels,
    listing,
    lsp,
    mcp,
    modes,
    providers,
    rewind,
    secrets,
    sessions,
    shell,
    startup,
    status_engine,
    stream_rules,
    tools,
    tui_frames,
    web,
)

SCENARIOS: tuple[Scenario, ...] = (
    *startup.SCENARIOS,
    *providers.SCENARIOS,
    *agent.SCENARIOS,
    *sessions.SCENARIOS,
    *listing.SCENARIOS,
    *modes.SCENARIOS,
    *tui_frames.SCENARIOS,
    *interactive.SCENARIOS,
    *lsp.SCENARIOS,
    *extensions.SCENARIOS,
    *status_engine.SCENARIOS,
    *secrets.SCENARIOS,
    *shell.SCENARIOS,
    *rewind.SCENARIOS,
    *mcp.SCENARIOS,
    *broker.SCENARIOS,
    *kernels.SCENARIOS,
    *stream_rules.SCENARIOS,
    *tools.SCENARIOS,
    *web.SCENARIOS,
    *bare.SCENARIOS,
)
