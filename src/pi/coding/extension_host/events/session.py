"""Events of the session, published by ``runtime`` and handled by extensions."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.messages import Image
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.extension_host.events.answers import (
    CacheWarmingAnswer,
    Cancel,
    ResourcesAnswer,
    RunCommand,
    UserBashAnswer,
)
from pi.coding.port.results import Streaming
from pi.coding.port.ui import Option
from pi.coding.shell.local import BashResult

DialogKind: TypeAlias = Literal["select", "confirm", "input", "editor", "custom"]


class ResourcesDiscoverEvent(Query):
    """Asks for more skills, prompt templates and themes."""

    answer: ClassVar[type[Record]] = ResourcesAnswer
    cwd: str
    reason: Literal["startup", "reload"]
    found: ResourcesAnswer = ResourcesAnswer()

    def with_answer(self, answer: ResourcesAnswer) -> Self:
        """Adds the paths."""
        found = ResourcesAnswer(
            skill_paths=self.found.skill_paths + answer.skill_paths,
            prompt_paths=self.found.prompt_paths + answer.prompt_paths,
            theme_paths=self.found.theme_paths + answer.theme_paths,
        )
        return replace(self, found=found)


class SessionStartEvent(Event):
    """The session has started, and the user interface is attached."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionShutdownEvent(Event):
    """The session is about to end; tasks of the extension are stopped afterwards."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]
    target_session_file: str | None = None


class SessionSwitchEvent(Event):
    """Another session has replaced this one."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionForkEvent(Event):
    """The session was forked or cloned from the previous one."""

    previous_session_file: str | None = None


class SessionInfoChangedEvent(Event):
    """The session was renamed."""

    name: str | None = None


class _Cancellable(Query):
    answer: ClassVar[type[Record]] = Cancel
    cancelled: bool = False
    skip_conversation_restore: bool = False

    def with_answer(self, answer: Cancel) -> Self:
        """The first cancellation wins."""
        return replace(
            self,
            cancelled=answer.cancel,
            skip_conversation_restore=answer.skip_conversation_restore,
        )

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.cancelled


class SessionBeforeSwitchEvent(_Cancellable):
    """Another session is about to replace this one."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: str | None = None


class SessionBeforeForkEvent(_Cancellable):
    """The branch up to an entry is about to become a new session."""

    entry_id: str | None
    position: Literal["before", "at"]


class TerminalOpenedEvent(Record, tag="terminal_opened"):
    """A command of the model is about to start in a terminal.

    ``terminal`` sends keys (``send``), changes the size (``resize``) and passes on what the program
    writes (``on_output``).
    """

    call_id: str
    terminal: Any


class UserBashEvent(Query):
    """The user runs a shell command: run it instead, say how, or raise to refuse it."""

    answer: ClassVar[type[Record]] = UserBashAnswer
    command: str
    exclude_from_context: bool
    cwd: str
    result: BashResult | None = None
    operations: RunCommand | None = None
    refused: str = ""

    def with_answer(self, answer: UserBashAnswer) -> Self:
        """The first result or runner wins."""
        given = answer.result
        result = BashResult(**given) if isinstance(given, dict) else given
        return replace(self, result=result, operations=answer.operations)

    def after_failure(self, error: Exception) -> Self:
        """Refuses the command: a broken guard must not let commands through."""
        return replace(self, refused=str(error) or type(error).__name__)

    @property
    def is_settled(self) -> bool:
        """Whether there is a result, a runner, or a refusal."""
        return self.result is not None or self.operations is not None or bool(self.refused)


class UserCommandStartEvent(Event):
    """A command or code of the user is about to run; it waits for the handlers."""

    prefix: str
    """``!`` for shell commands, or the prefix of an input mode, e.g. ``$``."""
    text: str


class UserCommandEndEvent(Event):
    """A command or code of the user has ended, however it ended."""

    prefix: str
    text: str


class UiPromptStartEvent(Event):
    """A dialog is about to open; ``ctx.ui.answer(event.id, value)`` answers it from elsewhere."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"
    id: str = ""
    """Identifies the dialog while it is open."""
    message: str = ""
    """The text below the title of a confirmation."""
    options: tuple[Option, ...] = ()
    """The options of a selection."""
    multi: bool = False
    """Whether several options can be selected."""
    initial: tuple[str, ...] = ()
    """The labels that are selected at first."""
    placeholder: str = ""
    prefill: str = ""
    """The text of an editor at first."""
    secret: bool = False
    """Whether the answer is a secret: do not forward the dialog."""


class UiPromptEndEvent(Event):
    """A dialog has closed."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"
    id: str = ""
    """The id of its start."""


class CacheWarmingDecisionEvent(Query):
    """Whether to keep a provider's cache warm."""

    answer: ClassVar[type[Record]] = CacheWarmingAnswer
    warm_cost: float
    miss_cost: float
    continuation_probability: float
    action: Literal["warm", "stop"]

    def with_answer(self, answer: CacheWarmingAnswer) -> Self:
        """The last answer wins."""
        return replace(self, action=answer.action)


class InputAnswer(Record):
    """Answer to ``input``."""

    action: Literal["continue", "transform", "handled"]
    text: str = ""
    images: tuple[Image, ...] | None = None


class InputEvent(Query):
    """Input arrived; a handler can change it or handle it."""

    answer: ClassVar[type[Record]] = InputAnswer
    text: str
    images: tuple[Image, ...] = ()
    source: Literal["interactive", "rpc", "extension"] = "interactive"
    streaming_behavior: Streaming | None = None
    handled: bool = False

    def with_answer(self, answer: InputAnswer) -> Self:
        """Applies a change; ``handled`` is final."""
        if answer.action == "handled":
            return replace(self, handled=True)
        if answer.action == "transform":
            images = self.images if answer.images is None else answer.images
            return replace(self, text=answer.text, images=images)
        return self

    @property
    def is_settled(self) -> bool:
        """Whether a handler has handled it."""
        return self.handled


# The JSON form of the next two records is that of JSON mode and RPC. Extensions get others: the
# names and defaults of their events are fixed by the original.


class ThinkingLevelChanged(Record, tag="thinking_level_changed"):
    """The thinking level has changed."""

    level: ThinkingLevel


class SessionInfoChanged(Record, tag="session_info_changed"):
    """The session was renamed."""

    name: str | UnsetType = UNSET


class ModelSelectEvent(Event):
    """The model has changed."""

    model: Model
    previous_model: Model | None
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelectEvent(Event):
    """The thinking level has changed."""

    level: ThinkingLevel
    previous_level: ThinkingLevel


class ExtensionEvent(Record, tag="extension_event"):
    """Emitted by an extension to clients, in order with all other events."""

    name: str
    data: Any = None
