"""All scenarios, in the order of the table."""

from __future__ import annotations

from bench.scenario import Scenario
from bench.scenarios import agent, bare, listing, providers, sessions, startup

SCENARIOS: tuple[Scenario, ...] = (
    *startup.SCENARIOS,
    *providers.SCENARIOS,
    *agent.SCENARIOS,
    *sessions.SCENARIOS,
    *listing.SCENARIOS,
    *bare.SCENARIOS,
)
