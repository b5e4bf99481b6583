"""The demo provider: a guided tour without a key, played from a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pi.ai.messages import Message, Text, ToolCall, ToolResultMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.base.records import Record

if TYPE_CHECKING:
    pass
from pi.ai.providers.faux import FauxProvider, Reply, says

DEMO = Provider(
    id="demo",
    name="Guided tour (no model)",
    needs_key=False,
    default_model="tour",
    is_fallback=True,
)

DEMO_MODEL = Model(id="tour", name="Guided tour", api="demo", provider="demo")

PROGRAM = 'print("Hello from pi")\n'

FAREWELL = """\
That was the tour: I looked around, wrote a file, changed it and ran it, each time by asking for \
a tool. I am a script, not a model, so I cannot do more than this. To talk to a model, set a key \
such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or log in with /login."""


class DemoStep(Record):
    """One step of the tour: its text and its tool call."""

    text: str
    tool: str
    arguments: dict[str, object]


def demo_provider(folder: str) -> FauxProvider:
    """Create the provider of the tour, which writes its files below ``folder``."""
    stops = _stops(folder)
    return FauxProvider(lambda call: _next_stop(call, stops), row=DEMO, models=(DEMO_MODEL,))


def _stops(folder: str) -> tuple[DemoStep, ...]:
    file = f"{folder}/hello.py"
    return (
        DemoStep(
            text="This is a guided tour, played from a script. First I look where I am.",
            tool="bash",
            arguments={"command": "pwd; ls | head"},
        ),
        DemoStep(
            text="Now I write a small program.",
            tool="write",
            arguments={"path": file, "content": PROGRAM},
        ),
        DemoStep(
            text="I can change what is there.",
            tool="edit",
            arguments={
                "path": file,
                "edits": [{"oldText": "Hello from pi", "newText": "Hello from pi, edited"}],
            },
        ),
        DemoStep(text="And read it back.", tool="read", arguments={"path": file}),
        DemoStep(
            text="Last, I run it.",
            tool="bash",
            arguments={"command": f"python3 '{file}'"},
        ),
    )


def _next_stop(call: Call, stops: Sequence[DemoStep]) -> Reply:
    instructions, messages = fold(call.messages, keep_later=False)
    offered = {tool.name for tool in instructions.tools}
    available = [stop for stop in stops if stop.tool in offered]
    index = _results_since_the_question(messages)
    if index >= len(available):
        return says(FAREWELL)
    stop = available[index]
    return Reply(
        blocks=(
            Text(text=stop.text),
            ToolCall(id=f"tour_{index}", name=stop.tool, arguments=dict(stop.arguments)),
        )
    )


def _results_since_the_question(messages: Sequence[Message]) -> int:
    count = 0
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            break
        count += isinstance(message, ToolResultMessage)
    return count
