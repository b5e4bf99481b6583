"""What extensions are told and asked while the agent works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType, field

from pi.agent.events import ToolOutput
from pi.ai.events import BlockEvent
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.extension_host.events.answers import (
    BeforeAgentStartAnswer,
    Block,
    BoundaryAnswer,
    ContextAnswer,
    Draft,
    MessageEndAnswer,
    ToolResultAnswer,
    as_draft,
)
from pi.coding.extension_host.events.session import InputAnswer, SaidInput
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import Entry, SessionMessage


class InputEvent(SaidInput):
    """Somebody said something; it may be changed, or taken care of."""

    answer: ClassVar[type[Record]] = InputAnswer
    streaming_behavior: Literal["steer", "followUp"] | None = None


class BeforeAgentStartEvent(Query):
    """A prompt is about to be answered."""

    answer: ClassVar[type[Record]] = BeforeAgentStartAnswer
    prompt: str
    images: tuple[Image, ...]
    system_prompt: str
    """As it would be; change ``system_prompt_options`` to have another one."""
    system_prompt_options: SystemPromptOptions
    messages: tuple[Any, ...] = ()
    """What handlers have added so far."""
    replacement: str | None = None

    def with_answer(self, answer: BeforeAgentStartAnswer) -> Self:
        """Messages add up; the last prompt counts."""
        said = () if answer.message is None else (answer.message,)
        prompt = self.replacement if answer.system_prompt is None else answer.system_prompt
        return replace(self, messages=self.messages + said, replacement=prompt)


class AgentStartEvent(Event):
    """A run begins."""


class AgentEndEvent(Event):
    """A run ends; ``messages`` are those it added."""

    messages: tuple[Any, ...]


class AgentSettledEvent(Event):
    """Nothing more happens until somebody asks."""


class TurnStartEvent(Event):
    """A turn begins."""

    turn_index: int
    timestamp: int


class BoundaryContext:
    """What the next request would be made of; each part is computed when it is read."""

    def __init__(
        self,
        entries: Callable[[], Sequence[Entry]],
        messages: Callable[[], Sequence[SessionMessage]],
        convert: Callable[[Sequence[SessionMessage]], Sequence[Message]],
        pending: Callable[[], Sequence[Any]],
    ) -> None:
        self._entries = entries
        self._messages = messages
        self._convert = convert
        self._pending = pending

    @property
    def context_entries(self) -> Sequence[Entry]:
        """The branch, as the log has it."""
        return self._entries()

    @property
    def context_messages(self) -> Sequence[SessionMessage]:
        """What the model is shown, in the session's own terms."""
        return self._messages()

    @property
    def llm_messages(self) -> Sequence[Message]:
        """The same, in the model's terms."""
        return self._convert(self._messages())

    @property
    def can_continue(self) -> bool:
        """Whether the model has something to answer: a question, a result, or what waits."""
        said = self.llm_messages
        asked = bool(said) and isinstance(said[-1], UserMessage | ToolResultMessage)
        return asked or bool(self._pending())

    @property
    def pending_messages(self) -> Sequence[Any]:
        """What waits to be delivered."""
        return self._pending()


class _Boundary(Query):
    """Where a run may go on, and the log may get more entries."""

    answer: ClassVar[type[Record]] = BoundaryAnswer
    outcome: Literal["completed", "aborted", "error"] = "completed"
    entries: tuple[Draft, ...] = ()
    """What handlers want to add so far."""
    continue_: bool = False
    context: Any = None

    def with_answer(self, answer: BoundaryAnswer) -> Self:
        """Entries add up, and one who wants to go on is enough."""
        drafts = tuple(map(as_draft, answer.entries))
        return replace(
            self, entries=self.entries + drafts, continue_=self.continue_ or answer.continue_
        )


class TurnEndEvent(_Boundary):
    """A turn is over; its messages are in the log."""

    turn_index: int = 0
    message: AssistantMessage | None = None
    tool_results: tuple[ToolResultMessage, ...] = ()
    message_entry_id: str | None = None
    tool_result_entry_ids: tuple[str, ...] = ()


class AgentBeforeSettleEvent(_Boundary):
    """The agent is about to come to rest."""


class _Context(Query):
    """What the model is about to be shown, for this request only."""

    answer: ClassVar[type[Record]] = ContextAnswer
    messages: tuple[Message, ...]

    def with_answer(self, answer: ContextAnswer) -> Self:
        """The last list counts."""
        return replace(self, messages=tuple(answer.messages))


class ContextEvent(_Context):
    """The messages of a request, without instructions."""


class ContextWithSystemEvent(_Context):
    """The messages of a request, with instructions."""


class MessageStartEvent(Event):
    """A message begins."""

    message: Any


class MessageUpdateEvent:
    """An answer has grown; ``message`` is put together when it is read."""

    __slots__ = ("_partial", "assistant_message_event")

    def __init__(self, event: BlockEvent, partial: Callable[[], AssistantMessage | None]) -> None:
        self.assistant_message_event = event
        self._partial = partial

    @property
    def message(self) -> AssistantMessage | None:
        """The answer so far."""
        return self._partial()


class MessageEndEvent(Query):
    """A message is complete, and not kept yet; another one of its role may take its place."""

    answer: ClassVar[type[Record]] = MessageEndAnswer
    message: Any

    def with_answer(self, answer: MessageEndAnswer) -> Self:
        """The last message counts, if it is of the same role."""
        old: Any = self.message
        new: Any = answer.message
        if isinstance(old, SystemMessage):
            raise TypeError("instructions are changed at before_agent_start")
        if type(new) is not type(old):
            raise TypeError(f"{type(old).__name__} cannot be replaced by {type(new).__name__}")
        if isinstance(new, ToolResultMessage) and new.tool_call_id != old.tool_call_id:
            raise TypeError("a result stays that of its call")
        return replace(self, message=new)


class ToolExecutionStartEvent(Event):
    """A tool call is about to run."""

    tool_call_id: str
    tool_name: str
    args: Json


class ToolExecutionUpdateEvent(Event):
    """What a tool shows while it runs."""

    tool_call_id: str
    tool_name: str
    args: Json
    partial_result: ToolOutput


class ToolExecutionEndEvent(Event):
    """A tool call has ended."""

    tool_call_id: str
    tool_name: str
    result: ToolOutput
    is_error: bool


class ToolCallEvent(Query):
    """The model wants to run a tool. Change ``input`` in place, or give ``Block``."""

    answer: ClassVar[type[Record]] = Block
    tool_name: str
    tool_call_id: str
    input: Json
    blocked: Block | None = None

    def with_answer(self, answer: Block) -> Self:
        """The first one that blocks counts."""
        return replace(self, blocked=answer) if answer.block else self

    def after_failure(self, problem: Exception) -> Self:
        """A guard that failed guards all the same."""
        return replace(self, blocked=Block(reason=str(problem) or type(problem).__name__))

    @property
    def is_settled(self) -> bool:
        """Whether somebody has blocked it."""
        return self.blocked is not None


class ToolResultEvent(Query):
    """What a tool gave, before the model sees it."""

    answer: ClassVar[type[Record]] = ToolResultAnswer
    tool_name: str
    tool_call_id: str
    input: Json
    content: tuple[Text | Image, ...]
    details: Any | UnsetType = UNSET
    is_error: bool = False
    usage: Usage | UnsetType = UNSET

    def with_answer(self, answer: ToolResultAnswer) -> Self:
        """Changes add up."""
        named = {name: getattr(answer, name) for name in answer.__struct_fields__}
        return replace(self, **{name: new for name, new in named.items() if new is not UNSET})


class ModelSelectEvent(Event):
    """Another model answers from now on."""

    model: Model
    previous_model: Model | None
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelectEvent(Event):
    """The model thinks more, or less, from now on."""

    level: ThinkingLevel
    previous_level: ThinkingLevel


class BeforeProviderHeadersEvent(Event):
    """A request is about to be sent: change ``headers`` in place; ``None`` takes one away."""

    headers: dict[str, str | None] = field(default_factory=dict)


class BeforeProviderRequestEvent(Query):
    """A request is about to be sent: give another payload to have that sent."""

    payload: Json

    def with_answer(self, answer: Json) -> Self:
        """The last payload counts."""
        if not isinstance(answer, dict):
            raise TypeError(f"a payload is a dict, not {type(answer).__name__}")
        return replace(self, payload=answer)


class AfterProviderResponseEvent(Event):
    """A provider has begun to answer."""

    status: int
    headers: dict[str, str]
