"""What frames cost: streaming, a long transcript, bytes on the wire, and the first frame."""

from __future__ import annotations

from bench.scenario import Command, Metric, Scenario, Target, cpu_ms, figure, python


def program(name: str, *arguments: str) -> Command:
    """A program in ``bench/programs/tui``."""
    return Command(words=python(f"tui.{name}", *arguments))


def microseconds(name: str, target: Target) -> Metric:
    """CPU that the program measured itself."""
    return figure(0, name, "µs", target)


STREAM = Scenario(
    name="tui-stream",
    about="a delta into a Markdown message above an editor, with its frame, after 4,000 others; "
    "the floor is one of the first 1,000",
    measured=program("stream", "4000"),
    floor=program("stream", "0"),
    metrics=(microseconds("cpu per delta", Target(times_floor=1.5)),),
)

TICK = Scenario(
    name="tui-tick",
    about="a spinner's next frame below 10,000 rows; the floor writes the same bytes plainly",
    measured=program("long", "tick", "cpu"),
    floor=program("long", "tick", "plain"),
    metrics=(microseconds("cpu per tick", Target(at_most=300)),),
)

TICK_BYTES = Scenario(
    name="tui-tick-bytes",
    about="the bytes of that frame; the floor is one character",
    measured=program("long", "tick", "bytes"),
    floor=program("burst", "plain"),
    metrics=(figure(0, "per tick", "B", Target(at_most=200)),),
)

KEY = Scenario(
    name="tui-key",
    about="one typed character below 10,000 rows; the floor writes the same bytes plainly",
    measured=program("long", "key", "cpu"),
    floor=program("long", "key", "plain"),
    metrics=(microseconds("cpu per key", Target(at_most=1000)),),
)

TOGETHER = Scenario(
    name="tui-burst",
    about="bytes per character when 5,000 deltas arrive at once; the floor is the text itself",
    measured=program("burst", "together"),
    floor=program("burst", "plain"),
    metrics=(figure(0, "per character", "B", Target(at_most=6)),),
)

SPREAD = Scenario(
    name="tui-spread",
    about="bytes of a frame beyond the new text at 100 deltas a second; the floor is one character",
    measured=program("burst", "spread"),
    floor=program("burst", "plain"),
    metrics=(figure(0, "per frame", "B", Target(at_most=100)),),
)

FIRST = Scenario(
    name="tui-first",
    about="import and first frame of an editor; the floor is import asyncio",
    measured=program("first_frame", "editor"),
    floor=program("first_frame", "asyncio"),
    metrics=(Metric(name="cpu", unit="ms", read=cpu_ms, target=Target(above_floor=40)),),
)

SCENARIOS = (STREAM, TICK, TICK_BYTES, KEY, TOGETHER, SPREAD, FIRST)
