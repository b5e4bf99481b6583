"""Conversations to compact, and models with scripted responses."""

from __future__ import annotations

from hypothesis import strategies as st

from pi.agent.compaction.budget import CompactionItem, Role
from pi.agent.compaction.summarise import SummaryRequest
from pi.ai.messages import (
    AssistantMessage,
    Json,
    StopReason,
    Text,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.base.records import replace

MODEL = Model(id="m", name="M", api="a", provider="p", context_window=200_000, max_tokens=32_000)
USELESS = "We talked about things."


def user(id: str, text: str) -> CompactionItem:
    return CompactionItem.of(id, UserMessage(content=text))


def shown(id: str, role: Role, text: str, details: Json | None = None) -> CompactionItem:
    """An entry that becomes a user message for the model."""
    return CompactionItem(id=id, role=role, message=UserMessage(content=text), details=details)


def metadata(id: str) -> CompactionItem:
    return CompactionItem(id=id, role="metadata")


def answer(id: str, text: str = "", *calls: ToolCall) -> CompactionItem:
    words = (Text(text=text),) if text else ()
    return CompactionItem.of(id, AssistantMessage(content=(*words, *calls)))


def call(id: str, tool: str = "bash", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=tool, arguments=arguments)


def result(
    id: str,
    call_id: str,
    text: str = "ok",
    *,
    tool: str = "bash",
    is_error: bool = False,
    details: Json | None = None,
) -> CompactionItem:
    return CompactionItem.of(
        id,
        ToolResultMessage(
            tool_call_id=call_id,
            tool_name=tool,
            content=(Text(text=text),),
            is_error=is_error,
            details=details,
        ),
    )


def says(
    text: str, stop_reason: StopReason = "stop", *, error: str = "", tokens: int = 0
) -> AssistantMessage:
    return AssistantMessage(
        content=(Text(text=text),) if text else (),
        stop_reason=stop_reason,
        error_message=error,
        usage=Usage(output=tokens, total_tokens=tokens),
    )


class ScriptedAsk:
    """Answers in order and repeats the last answer; ``requests`` has the received requests."""

    def __init__(self, *answers: AssistantMessage) -> None:
        self._answers = list(answers)
        self.requests: list[SummaryRequest] = []

    async def __call__(self, request: SummaryRequest) -> AssistantMessage:
        self.requests.append(request)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    @property
    def prompts(self) -> list[str]:
        """The prompts that the model was sent, one text per request."""
        return [prompt(request) for request in self.requests]


def prompt(request: SummaryRequest) -> str:
    (message,) = request.context.messages
    assert isinstance(message, UserMessage)
    assert isinstance(message.content, str)
    return message.content


_WORDS = st.integers(0, 400).map(lambda length: "word " * length)
_OPENINGS: tuple[Role | None, ...] = ("user", "bashExecution", "custom", None)


@st.composite
def conversations(draw: st.DrawFn, *, most_turns: int = 8) -> list[CompactionItem]:
    """Turns with parallel calls, results in any order, other messages between, and reused ids."""
    items: list[CompactionItem] = []
    for _ in range(draw(st.integers(0, most_turns))):
        if role := draw(st.sampled_from(_OPENINGS)):
            items.append(shown("", role, draw(_WORDS)))
        for _ in range(draw(st.integers(0, 3))):
            items += draw(_batches())
    return [replace(item, id=f"e{at}") for at, item in enumerate(items)]


@st.composite
def _batches(draw: st.DrawFn) -> list[CompactionItem]:
    """An answer and the results of its calls; some results are missing."""
    calls = [call(f"c{number}") for number in range(draw(st.integers(0, 3)))]
    items = [metadata("")] if draw(st.booleans()) else []
    items.append(answer("", draw(_WORDS), *calls))
    for answered in draw(st.permutations(calls)):
        if draw(st.integers(0, 5)) == 0:
            items.append(shown("", "custom", draw(_WORDS)))
        if draw(st.integers(0, 9)):
            items.append(result("", answered.id, draw(_WORDS)))
    return items
