"""A scripted tour for people who have no key yet: it drives the real tools and says what it is."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import Message, Text, ToolCall, ToolResultMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import FauxProvider, Reply, says
from pi.ai.providers.provider import Provider
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.base.records import Record

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


class Stop(Record):
    """One stop of the tour: what is said, and the tool that is shown."""

    words: str
    tool: str
    arguments: dict[str, object]


def demo_provider(folder: str) -> FauxProvider:
    """The tour; the files that it shows are written below ``folder``."""
    stops = _stops(folder)
    return FauxProvider(lambda call: _next_stop(call, stops), row=DEMO, models=(DEMO_MODEL,))


def _stops(folder: str) -> tuple[Stop, ...]:
    file = f"{folder}/hello.py"
    return (
        Stop(
            words="This is a guided tour, played from a script. First I look where I am.",
            tool="bash",
            arguments={"command": "pwd; ls | head"},
        ),
        Stop(
            words="Now I write a small program.",
            tool="write",
            arguments={"path": file, "content": PROGRAM},
        ),
        Stop(
            words="I can change what is there.",
            tool="edit",
            arguments={
                "path": file,
                "edits": [{"oldText": "Hello from pi", "newText": "Hello from pi, edited"}],
            },
        ),
        Stop(words="And read it back.", tool="read", arguments={"path": file}),
        Stop(
            words="Last, I run it.",
            tool="bash",
            arguments={"command": f"python3 '{file}'"},
        ),
    )


def _next_stop(call: Call, stops: Sequence[Stop]) -> Reply:
    instructions, messages = fold(call.messages, keep_later=False)
    offered = {tool.name for tool in instructions.tools}
    shown = [stop for stop in stops if stop.tool in offered]
    at = _results_since_the_question(messages)
    if at >= len(shown):
        return says(FAREWELL)
    stop = shown[at]
    return Reply(
        blocks=(
            Text(text=stop.words),
            ToolCall(id=f"tour_{at}", name=stop.tool, arguments=dict(stop.arguments)),
        )
    )


def _results_since_the_question(messages: Sequence[Message]) -> int:
    count = 0
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            break
        count += isinstance(message, ToolResultMessage)
    return count
