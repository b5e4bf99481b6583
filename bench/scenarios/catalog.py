"""All scenarios, in the order of the table."""

from __future__ import annotations

from bench.scenario import Scenario
from bench.scenarios import (
    agent,
    bare,
    extensions,
    interactive,
    listing,
    modes,
    providers,
    sessions,
    startup,
    status_engine,
    tui_frames,
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
    *extensions.SCENARIOS,
    *status_engine.SCENARIOS,
    *bare.SCENARIOS,
)
