"""Random conversations for an agent, and how they are played."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from hypothesis import strategies as st

from pi.agent.events import AgentEvent
from pi.agent.policy import Boundary, Interrupt, Next, Partial, Policy, StopRun, ToolRefused
from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolResult
from pi.ai.errors import ProviderUnavailable
from pi.ai.events import Delta
from pi.ai.messages import Json, Text, ToolCall
from pi.ai.providers.faux import Step
from pi.ai.testing import Reply, call, says
from pi.base.records import Record, replace
from tests.agent.agents import AgentFixture

KINDS = ("works", "fails", "alone", "ends", "unknown", "invalid", "broken", "refused")


class RandomCall(Record):
    """One call of a random batch."""

    kind: str
    delay: int
    updates: int
    path: str


class Answer(Record):
    """One random answer."""

    kind: Literal["words", "calls", "cut off", "error", "half"]
    calls: tuple[RandomCall, ...] = ()
    silent: bool = False
    """Without words before the calls."""


class Event(Record):
    """An action after a number of emitted events or of steps."""

    at: int
    what: Literal["steer", "follow up", "abort", "abort outside", "clear"]


class Story(Record):
    """A whole random conversation."""

    answers: tuple[Answer, ...]
    events: tuple[Event, ...]
    cuts: frozenset[int]
    """Numbers of the deltas at which the answer is cut."""
    stops: frozenset[int]
    """Numbers of the boundaries at which a policy wants the end."""
    retries: int
    mode: Literal["all", "one-at-a-time"]
    prompts: int


random_calls = st.builds(
    RandomCall,
    kind=st.sampled_from(KINDS),
    delay=st.integers(0, 4),
    updates=st.integers(0, 2),
    path=st.sampled_from(["", "x", "y"]),
)
answers = st.builds(
    Answer,
    kind=st.sampled_from(["words", "calls", "calls", "calls", "cut off", "error", "half"]),
    calls=st.lists(random_calls, min_size=1, max_size=4).map(tuple),
    silent=st.booleans(),
)
events = st.builds(
    Event,
    at=st.integers(0, 60),
    what=st.sampled_from(["steer", "follow up", "abort", "abort outside", "clear"]),
)
stories = st.builds(
    Story,
    answers=st.lists(answers, min_size=1, max_size=6).map(tuple),
    events=st.lists(events, max_size=5).map(tuple),
    cuts=st.frozensets(st.integers(0, 30), max_size=3),
    stops=st.frozensets(st.integers(0, 12), max_size=1),
    retries=st.integers(0, 2),
    mode=st.sampled_from(["all", "one-at-a-time"]),
    prompts=st.integers(1, 3),
)


# How it is played --------------------------------------------------------------------------------


async def run_tool(arguments: Json, ctx: ToolContext) -> ToolResult:
    for _ in range(arguments["updates"]):
        ctx.update(ToolResult.of("half"))
        await asyncio.sleep(0)
    for _ in range(arguments["delay"]):
        await asyncio.sleep(0)
    if arguments["kind"] == "fails":
        raise OSError("no")
    return ToolResult.of("ok", terminate=arguments["kind"] == "ends")


def touched(arguments: Json) -> tuple[str, ...]:
    return (arguments["path"],) if arguments["path"] else ()


def tools() -> list[AgentTool]:
    schema = {
        "type": "object",
        "properties": {"delay": {"type": "integer"}, "kind": {"type": "string"}},
        "required": ["delay"],
    }
    made = [
        make_tool(name=kind, description=kind, params=schema, run=run_tool, touches=touched)
        for kind in KINDS
        if kind not in ("unknown", "alone")
    ]
    alone = make_tool(
        name="alone", description="alone", params=schema, run=run_tool, execution_mode="sequential"
    )
    return [*made, alone]


class Playing(Policy):
    """Performs the actions of the story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._retries = story.retries
        self._deltas = -1
        self._boundaries = -1

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        self._deltas += 1
        if self._deltas in self._story.cuts:
            raise Interrupt("cut", keep=self._deltas % 2 == 0)

    async def before_tool(self, call: ToolCall) -> ToolCall:
        await asyncio.sleep(0)
        if call.name == "refused":
            raise ToolRefused("no")
        if call.name == "broken":
            raise RuntimeError("a bug")
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        await asyncio.sleep(0)
        return replace(result, details={"seen": True})

    async def at_boundary(self, at: Boundary) -> Next:
        self._boundaries += 1
        await asyncio.sleep(0)
        if at.kind != "prompt" and self._boundaries in self._story.stops:
            raise StopRun("enough")
        if at.kind == "turn" and at.error is not None and self._retries:
            self._retries -= 1
            return Next(action="again", new_run=True, prepare=lambda: asyncio.sleep(0))
        return at.next


def script(story: Story) -> list[Step]:
    steps: list[Step] = []
    for number, answer in enumerate(story.answers):
        blocks: list[Any] = [] if answer.silent else [Text(text="one two three")]
        if answer.kind in ("calls", "cut off", "half"):
            blocks += [
                call(each.kind, id=f"{number}-{at}", **arguments(each))
                for at, each in enumerate(answer.calls)
            ]
        match answer.kind:
            case "error":
                steps.append(ProviderUnavailable("503: down"))
            case "half":
                steps.append(Reply(blocks=tuple(blocks), error="the line is dead"))
            case "cut off":
                steps.append(Reply(blocks=tuple(blocks), stop_reason="length"))
            case _:
                steps.append(Reply(blocks=tuple(blocks)))
    return [*steps, *[says("the end")] * 20]


def arguments(each: RandomCall) -> dict[str, Any]:
    if each.kind == "invalid":
        return {"kind": "invalid"}
    return {
        "kind": each.kind,
        "delay": each.delay,
        "updates": each.updates,
        "path": each.path,
    }


class Interfering:
    """A listener that steers, clears and aborts after a number of events."""

    def __init__(self, fixture: AgentFixture, story: Story) -> None:
        self._fixture = fixture
        self._plan: dict[int, list[str]] = {}
        for event in story.events:
            self._plan.setdefault(event.at, []).append(event.what)

    async def __call__(self, event: AgentEvent) -> None:
        agent = self._fixture.agent
        for what in self._plan.pop(len(self._fixture.events), ()):
            match what:
                case "steer":
                    await agent.steer("steered")
                case "follow up":
                    await agent.follow_up("followed")
                case "clear":
                    await agent.clear_queue()
                case "abort":
                    agent.abort()


async def play(story: Story) -> AgentFixture:
    """Play a story to its end; returns its fixture."""
    fixture = AgentFixture(
        *script(story),
        tools=tools(),
        policies=[Playing(story), Policy()],
        system_prompt="Be brief.",
        steering_mode=story.mode,
        follow_up_mode=story.mode,
    )
    fixture.agent.subscribe(Interfering(fixture, story))

    async def abort_outside(steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        fixture.agent.abort()

    outside = [
        asyncio.create_task(abort_outside(event.at))
        for event in story.events
        if event.what == "abort outside"
    ]
    for _ in range(story.prompts):
        await asyncio.wait_for(fixture.agent.prompt("go"), 30)
    await asyncio.gather(*outside)
    return fixture
