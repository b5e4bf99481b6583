"""Events of a run that are not in ``pi.agent.events``, or that handlers can answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType, field

from pi.agent.tools.approval import ToolApproval
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
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import Entry, SessionMessage


class BeforeAgentStartEvent(Query):
    """A prompt is about to be sent to the model."""

    answer: ClassVar[type[Record]] = BeforeAgentStartAnswer
    prompt: str
    images: tuple[Image, ...]
    system_prompt: str
    """The current prompt; change ``system_prompt_options`` to change it."""
    system_prompt_options: SystemPromptOptions
    messages: tuple[Any, ...] = ()
    """Messages added by handlers so far."""
    replacement: str | None = None

    def with_answer(self, answer: BeforeAgentStartAnswer) -> Self:
        """Add the message; the last prompt wins."""
        added = () if answer.message is None else (answer.message,)
        prompt = self.replacement if answer.system_prompt is None else answer.system_prompt
        return replace(self, messages=self.messages + added, replacement=prompt)


class TurnStartEvent(Event):
    """A turn begins."""

    turn_index: int
    timestamp: int


class BoundaryContext:
    """The content of the next request; each part is computed when it is read."""

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
        """The branch in the log."""
        return self._entries()

    @property
    def context_messages(self) -> Sequence[SessionMessage]:
        """The messages of the session for the next request."""
        return self._messages()

    @property
    def llm_messages(self) -> Sequence[Message]:
        """The same messages as sent to the model."""
        return self._convert(self._messages())

    @property
    def can_continue(self) -> bool:
        """Whether the last message is a user message or tool result, or a message is queued."""
        messages = self.llm_messages
        awaits_answer = bool(messages) and isinstance(messages[-1], UserMessage | ToolResultMessage)
        return awaits_answer or bool(self._pending())

    @property
    def pending_messages(self) -> Sequence[Any]:
        """Messages that wait for delivery."""
        return self._pending()


class _Boundary(Query):
    """A point where handlers can continue the run and add entries to the log."""

    answer: ClassVar[type[Record]] = BoundaryAnswer
    outcome: Literal["completed", "aborted", "error"] = "completed"
    entries: tuple[Draft, ...] = ()
    """Entries added by handlers so far."""
    continue_: bool = False
    context: Any = None

    def with_answer(self, answer: BoundaryAnswer) -> Self:
        """Add the entries; the run continues if one handler requests it."""
        drafts = tuple(map(as_draft, answer.entries))
        return replace(
            self, entries=self.entries + drafts, continue_=self.continue_ or answer.continue_
        )


class TurnEndEvent(_Boundary):
    """A turn is complete; its messages are in the log."""

    turn_index: int = 0
    message: AssistantMessage | None = None
    tool_results: tuple[ToolResultMessage, ...] = ()
    message_entry_id: str | None = None
    tool_result_entry_ids: tuple[str, ...] = ()


class AgentBeforeSettleEvent(_Boundary):
    """The agent is about to become idle."""


class _Context(Query):
    """The messages of one request."""

    answer: ClassVar[type[Record]] = ContextAnswer
    messages: tuple[Message, ...]

    def with_answer(self, answer: ContextAnswer) -> Self:
        """The last list wins."""
        return replace(self, messages=tuple(answer.messages))


class ContextEvent(_Context):
    """The messages of a request, without system messages."""


class ContextWithSystemEvent(_Context):
    """The messages of a request, with system messages."""


class MessageUpdateEvent:
    """The answer has grown; ``message`` is built when it is read."""

    __slots__ = ("_partial", "assistant_message_event")

    def __init__(self, event: BlockEvent, partial: Callable[[], AssistantMessage | None]) -> None:
        self.assistant_message_event = event
        self._partial = partial

    @property
    def message(self) -> AssistantMessage | None:
        """The answer so far."""
        return self._partial()


class MessageEndEvent(Query):
    """A message is complete, but not stored; a handler can replace it by one of the same role."""

    answer: ClassVar[type[Record]] = MessageEndAnswer
    message: Any

    def with_answer(self, answer: MessageEndAnswer) -> Self:
        """The last message wins. Raises ``TypeError`` if its role differs."""
        old: Any = self.message
        new: Any = answer.message
        if isinstance(old, SystemMessage):
            raise TypeError("a system message can only be changed at before_agent_start")
        if type(new) is not type(old):
            raise TypeError(f"{type(old).__name__} cannot be replaced by {type(new).__name__}")
        if isinstance(new, ToolResultMessage) and new.tool_call_id != old.tool_call_id:
            raise TypeError("a tool result must keep its tool_call_id")
        return replace(self, message=new)


class ToolCallEvent(Query):
    """The model calls a tool. Change ``input`` in place, or return ``Block``."""

    answer: ClassVar[type[Record]] = Block
    tool_name: str
    tool_call_id: str
    input: Json
    approval: ToolApproval = ToolApproval()
    """What the call may do, as its tool declares it; for permission guards."""
    agent: str = ""
    """The sub-agent that calls the tool; empty for the agent of this session."""
    blocked: Block | None = None

    def with_answer(self, answer: Block) -> Self:
        """The first block wins."""
        return replace(self, blocked=answer) if answer.block else self

    def after_failure(self, error: Exception) -> Self:
        """Block the call: a broken guard must not let calls through."""
        return replace(self, blocked=Block(reason=str(error) or type(error).__name__))

    @property
    def is_settled(self) -> bool:
        """Whether the call is blocked."""
        return self.blocked is not None


class ToolResultEvent(Query):
    """A tool has returned; the model has not seen the result yet."""

    answer: ClassVar[type[Record]] = ToolResultAnswer
    tool_name: str
    tool_call_id: str
    input: Json
    content: tuple[Text | Image, ...]
    details: Any | UnsetType = UNSET
    is_error: bool = False
    usage: Usage | UnsetType = UNSET

    def with_answer(self, answer: ToolResultAnswer) -> Self:
        """Replace the given fields."""
        named = {name: getattr(answer, name) for name in answer.__struct_fields__}
        return replace(self, **{name: new for name, new in named.items() if new is not UNSET})


class BeforeProviderHeadersEvent(Event):
    """A request is about to be sent: change ``headers`` in place; ``None`` removes one."""

    headers: dict[str, str | None] = field(default_factory=dict)


class BeforeProviderRequestEvent(Query):
    """A request is about to be sent: return another payload to replace it."""

    payload: Json

    def with_answer(self, answer: Json) -> Self:
        """The last payload wins. Raises ``TypeError`` if it is not a dict."""
        if not isinstance(answer, dict):
            raise TypeError(f"a payload must be a dict, not {type(answer).__name__}")
        return replace(self, payload=answer)


class AfterProviderResponseEvent(Event):
    """A provider has started to respond."""

    status: int
    headers: dict[str, str]
