"""The auth broker and the gateway: snapshots, the first token, CPU per delta."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

SNAPSHOTS = 2000
DELTAS = 2000


def gateway(kind: str, deltas: int, rounds: int) -> Command:
    """Request to the mock server, through the gateway or not."""
    return Command(words=python("broker.gateway", kind, "{port}", deltas, rounds))


SCENARIOS = (
    Scenario(
        name="broker-snapshot",
        about="a cached snapshot of the auth broker; 1 ms is 1,000 a second. Floor: a bare server",
        measured=Command(words=python("broker.snapshots", "broker", SNAPSHOTS)),
        floor=Command(words=python("broker.snapshots", "bare", SNAPSHOTS)),
        metrics=(figure(0, "wall per snapshot", "ms", Target(at_most=1.0)),),
        needs="aiohttp",
    ),
    Scenario(
        name="gateway-first",
        about="the first token through the gateway; the floor asks the model itself",
        measured=gateway("through", 3, 50),
        floor=gateway("direct", 3, 50),
        metrics=(figure(0, "first token", "ms", Target(above_floor=3)),),
        needs="aiohttp",
    ),
    Scenario(
        name="gateway-delta",
        about="CPU per delta with client and gateway; the floor decodes the provider's answer only",
        measured=gateway("through", DELTAS, 5),
        floor=gateway("direct", DELTAS, 5),
        metrics=(figure(1, "CPU per delta", "µs", Target(above_floor=40)),),
        needs="aiohttp",
    ),
)
