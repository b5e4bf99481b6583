"""Events of the session: those of extensions, and those that ``runtime`` publishes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.messages import Image
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.compaction.events import (
    BeforeCompact,
    CompactDecision,
    Compacted,
    CompactFailed,
    CompactingAnswer,
    CompactionReason,
    CompactionResult,
    Notes,
    TreeDecision,
    TreeMove,
    TreeMoved,
)
from pi.coding.extension_host.events.answers import (
    CacheWarmingAnswer,
    Cancel,
    ResourcesAnswer,
    RunCommand,
    UserBashAnswer,
)
from pi.coding.port.results import Streaming
from pi.coding.prompt import PromptParts
from pi.coding.session.entries import SessionMessage
from pi.coding.shell.local import BashResult
from pi.coding.trust import TrustAnswer

if TYPE_CHECKING:
    from pi.agent.env import OnOutput


DialogKind: TypeAlias = Literal["select", "confirm", "input", "editor", "custom"]


class ProjectTrustEvent(Query):
    """Whether a project is trusted; asked before anything of it is read."""

    answer: ClassVar[type[Record]] = TrustAnswer
    cwd: str
    decision: TrustAnswer = TrustAnswer(trusted="undecided")

    def with_answer(self, answer: TrustAnswer) -> Self:
        """The first decision wins."""
        return replace(self, decision=answer)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has decided."""
        return self.decision.trusted != "undecided"


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


class SessionBeforeCompactEvent(BeforeCompact):
    """A compaction is about to begin: a handler can cancel it or do it itself."""

    answer: ClassVar[type[Record]] = CompactDecision

    def with_answer(self, answer: CompactDecision) -> Self:
        """The last answer wins; a compaction may be a dict with the names of the original."""
        given: Any = answer.compaction
        if isinstance(given, dict):
            answer = replace(answer, compaction=_compaction(given))
        return super().with_answer(answer)


def _compaction(given: Mapping[str, Any]) -> CompactionResult:
    fields = dict(given)
    if "first_kept_entry_id" in fields:
        fields["first_kept_id"] = fields.pop("first_kept_entry_id")
    return CompactionResult(**fields)


class SessionCompactingEvent(Query):
    """A summary is about to be requested: handlers can add to its prompt."""

    answer: ClassVar[type[Record]] = CompactingAnswer
    reason: CompactionReason
    added: CompactingAnswer = CompactingAnswer()

    def with_answer(self, answer: CompactingAnswer) -> Self:
        """Combines all answers."""
        return replace(self, added=self.added.and_then(answer))


class SessionCompactEvent(Compacted):
    """A compaction is in the log."""


class SessionCompactFailedEvent(CompactFailed):
    """A compaction failed."""


class SessionBeforeTreeEvent(Query):
    """The leaf is about to move: a handler can cancel that or provide the summary."""

    answer: ClassVar[type[Record]] = TreeDecision
    preparation: TreeMove
    decision: TreeDecision = TreeDecision()

    def with_answer(self, answer: TreeDecision) -> Self:
        """Later answers override earlier ones field by field."""
        given = {name: getattr(answer, name) for name in answer.__struct_fields__}
        if isinstance(given["summary"], dict):
            given["summary"] = Notes(**given["summary"])
        new = {name: value for name, value in given.items() if value is not None}
        return replace(self, decision=replace(self.decision, **new))

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.decision.cancel


class SessionTreeEvent(TreeMoved):
    """The leaf has moved."""


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


class UiPromptStartEvent(Event):
    """A dialog is about to open."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"


class UiPromptEndEvent(Event):
    """A dialog has closed."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"


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


class SaidInput(Query):
    """Input before it becomes a message; a handler can change it or handle it."""

    text: str
    images: tuple[Image, ...] = ()
    source: Literal["interactive", "rpc", "extension"] = "interactive"
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


# The first two records are public: their JSON form is that of JSON mode and RPC. The others go over
# the bus only.


StartReason: TypeAlias = Literal["startup", "reload", "new", "resume", "fork"]
EndReason: TypeAlias = Literal["quit", "reload", "new", "resume", "fork"]


class ThinkingLevelChanged(Record, tag="thinking_level_changed"):
    """The thinking level has changed."""

    level: ThinkingLevel


class SessionInfoChanged(Record, tag="session_info_changed"):
    """The session was renamed."""

    name: str | UnsetType = UNSET


class SessionStarted(Event):
    """A session has started, with all its parts."""

    reason: StartReason
    previous_session_file: Path | None = None


class SessionEnding(Event):
    """A session is about to end."""

    reason: EndReason
    target_session_file: Path | None = None


class SwitchDecision(Record):
    """A handler's answer to ``BeforeSwitch`` or ``BeforeFork``."""

    cancel: bool = False
    keep_conversation: bool = False
    """Of a fork: whether the conversation after the entry is kept."""


class BeforeSwitch(Query):
    """Another session is about to replace this one."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: Path | None = None
    cancelled: bool = False

    def with_answer(self, answer: SwitchDecision) -> Self:
        """The first cancellation wins."""
        return replace(self, cancelled=answer.cancel)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.cancelled


class BeforeFork(Query):
    """The branch up to an entry is about to become a new session."""

    entry_id: str | None
    position: Literal["before", "at"]
    cancelled: bool = False
    keep_conversation: bool = False

    def with_answer(self, answer: SwitchDecision) -> Self:
        """The first cancellation wins."""
        return replace(self, cancelled=answer.cancel, keep_conversation=answer.keep_conversation)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.cancelled


class Switched(Event):
    """Another session has replaced the previous one."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: Path | None = None


class Input(SaidInput):
    """Input before it becomes a message; a handler can change it or handle it."""

    streaming: Streaming | None = None


class RunAnswer(Record):
    """A handler's answer to ``BeforeRun``."""

    parts: PromptParts
    messages: tuple[SessionMessage, ...] = ()


class BeforeRun(Query):
    """A prompt is about to be sent: handlers can change the system prompt and add messages."""

    text: str
    images: tuple[Image, ...]
    parts: PromptParts
    messages: tuple[SessionMessage, ...] = ()
    """Sent after the prompt."""

    def with_answer(self, answer: RunAnswer) -> Self:
        """The last system prompt wins; messages are added."""
        return replace(self, parts=answer.parts, messages=self.messages + answer.messages)


class ModelSelected(Event):
    """The model has changed."""

    model: Model
    previous: Model | None
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelected(Event):
    """The thinking level has changed."""

    level: ThinkingLevel
    previous: ThinkingLevel


class UserBash(Query):
    """The user runs a shell command; a handler can run it itself or refuse it."""

    command: str
    exclude_from_context: bool
    cwd: str
    on_text: OnOutput = lambda text: None
    """Gets the output of the command while it runs."""
    result: BashResult | None = None
    refused: str = ""

    def with_answer(self, answer: BashResult) -> Self:
        """The first result wins."""
        return replace(self, result=answer)

    def after_failure(self, error: Exception) -> Self:
        """Refuses the command: a broken guard must not let commands through."""
        return replace(self, refused=str(error) or type(error).__name__)

    @property
    def is_settled(self) -> bool:
        """Whether there is a result or a refusal."""
        return self.result is not None or bool(self.refused)


class WarmCache(Query):
    """Whether to read a provider's cache of the conversation once more to keep it."""

    warm_cost: float
    miss_cost: float
    continuation_probability: float
    action: Literal["warm", "stop"]

    def with_answer(self, answer: Literal["warm", "stop"]) -> Self:
        """The last answer wins."""
        return replace(self, action=answer)
