"""What ``pi.ai`` costs beside the vendors' own SDKs, which read the same bytes in the same rounds.

The SDK stands in the floor's column: a ratio of 0.25 means a quarter of what it costs. Where a few
milliseconds for 20,000 deltas would drown in the noise of starting Python, the programs print the
CPU time of each answer themselves (``bench.programs``).
"""

from __future__ import annotations

from bench.scenario import Command, Metric, Observation, Scenario, Target, cpu_ms, peak_mb
from bench.scenarios.bare import FEW, MANY, bare
from pi.base.records import Record

QUARTER, HUGE = "echo-5000", "echo-100000"
HUGE_THOUSANDS = (100_000 - 20) / 1000
OURS, BARE_WIRE = "pi_ai_stream", "pi_ai_wire"


class Wire(Record):
    """A wire, and the SDK of its vendor."""

    name: str
    api: str
    path: str
    """Below the mock server's address, where clients expect the API."""
    sdk: str
    """A program in ``bench/programs`` that asks with the SDK."""
    package: str
    """The package that ``sdk`` imports."""

    def command(self, program: str, *models: str) -> tuple[str, ...]:
        """The command line of ``program`` on this wire."""
        url = "http://127.0.0.1:{port}" + self.path
        return (".venv/bin/python", f"bench/programs/{program}.py", url, self.api, *models)


WIRES = (
    Wire(
        name="messages",
        api="anthropic-messages",
        path="",
        sdk="sdk_anthropic",
        package="anthropic",
    ),
    Wire(name="chat", api="openai-completions", path="/v1", sdk="sdk_openai", package="openai"),
    Wire(name="responses", api="openai-responses", path="/v1", sdk="sdk_openai", package="openai"),
    Wire(
        name="gemini",
        api="google-generative-ai",
        path="/v1beta",
        sdk="sdk_google",
        package="google.genai",
    ),
)


def first_delta_ms(seen: Observation) -> float:
    """CPU time of the process when its first delta came, as the program prints it."""
    return _printed(seen)[0][1]


def warm_answers_ms(seen: Observation) -> float:
    """CPU time of all answers but the first, which loads what the others need too."""
    return sum(spent for _, _, spent in _printed(seen)[1:])


def _printed(seen: Observation) -> list[tuple[float, ...]]:
    lines = seen.run.output.decode().splitlines()
    return [tuple(float(word) for word in line.split()) for line in lines]


def cpu_per_thousand(target: Target) -> Metric:
    """CPU time of 1,000 deltas, of MANY after a first answer."""
    return Metric(
        name="cpu per 1,000 deltas", unit="ms", read=warm_answers_ms, per=20, target=target
    )


def streaming(wire: Wire) -> Scenario:
    """What a delta costs."""
    return Scenario(
        name=wire.name,
        about=f"20,000 deltas of {wire.api} with pi.ai; the floor is {wire.package}",
        needs=wire.package,
        measured=Command(words=wire.command(OURS, FEW, MANY)),
        floor=Command(words=wire.command(wire.sdk, FEW, MANY)),
        metrics=(cpu_per_thousand(Target(times_floor=1 / 4)),),
    )


def first_event(wire: Wire) -> Scenario:
    """The cost from the start of the process to the first delta."""
    return Scenario(
        name=f"{wire.name}-first",
        about=f"the first delta of {wire.api} with pi.ai; the floor is {wire.package}",
        needs=wire.package,
        measured=Command(words=wire.command(OURS, FEW)),
        floor=Command(words=wire.command(wire.sdk, FEW)),
        metrics=(
            Metric(
                name="cpu to first delta",
                unit="ms",
                read=first_delta_ms,
                target=Target(times_floor=1 / 5),
            ),
            Metric(name="peak memory", unit="MB", read=peak_mb),
        ),
    )


def decoding(wire: Wire) -> Scenario:
    """Transport, server-sent events and decoding alone. The floor uses chat completions always."""
    return Scenario(
        name=f"{wire.name}-wire",
        about=f"100,000 deltas of {wire.api} with no stream; the floor is httptools and msgspec",
        measured=Command(words=wire.command(BARE_WIRE, HUGE), without=wire.command(BARE_WIRE, FEW)),
        floor=Command(words=bare("deltas_parsers", HUGE), without=bare("deltas_parsers", FEW)),
        metrics=(
            Metric(
                name="cpu per 1,000 deltas",
                unit="ms",
                read=cpu_ms,
                per=HUGE_THOUSANDS,
                target=Target(at_most=3),
            ),
        ),
    )


def length(wire: Wire) -> Scenario:
    """Whether a delta of a long message costs more."""
    return Scenario(
        name=f"{wire.name}-long",
        about=f"an answer of 20,000 deltas over {wire.api}; the floor is the same in quarters",
        measured=Command(words=wire.command(OURS, FEW, MANY)),
        floor=Command(words=wire.command(OURS, FEW, *[QUARTER] * 4)),
        metrics=(cpu_per_thousand(Target(times_floor=1.5)),),
    )


IMPORT = Scenario(
    name="import-ai",
    about="import pi.ai after asyncio; the floor is asyncio alone",
    measured=Command(words=(".venv/bin/python", "-c", "import asyncio, pi.ai")),
    floor=Command(words=(".venv/bin/python", "-c", "import asyncio")),
    metrics=(Metric(name="cpu", unit="ms", read=cpu_ms, target=Target(above_floor=25)),),
)

SCENARIOS = (
    IMPORT,
    *map(first_event, WIRES),
    *map(streaming, WIRES),
    *map(decoding, WIRES),
    *map(length, WIRES),
)
