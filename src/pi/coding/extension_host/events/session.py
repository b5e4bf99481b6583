"""What extensions are told and asked about the session itself."""

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
    """Whether a project may be trusted; asked before anything of it is read."""

    answer: ClassVar[type[Record]] = TrustAnswer
    cwd: str
    decision: TrustAnswer = TrustAnswer(trusted="undecided")

    def with_answer(self, answer: TrustAnswer) -> Self:
        """The first decided answer counts."""
        return replace(self, decision=answer)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has decided."""
        return self.decision.trusted != "undecided"


class ResourcesDiscoverEvent(Query):
    """Which further skills, templates and themes there are."""

    answer: ClassVar[type[Record]] = ResourcesAnswer
    cwd: str
    reason: Literal["startup", "reload"]
    found: ResourcesAnswer = ResourcesAnswer()

    def with_answer(self, answer: ResourcesAnswer) -> Self:
        """Paths add up."""
        found = ResourcesAnswer(
            skill_paths=self.found.skill_paths + answer.skill_paths,
            prompt_paths=self.found.prompt_paths + answer.prompt_paths,
            theme_paths=self.found.theme_paths + answer.theme_paths,
        )
        return replace(self, found=found)


class SessionStartEvent(Event):
    """The session is there, and so is the screen, if there is one."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionShutdownEvent(Event):
    """The session is about to be left; what the extension has started ends after this."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]
    target_session_file: str | None = None


class SessionSwitchEvent(Event):
    """Another session has taken the place of the one before."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionForkEvent(Event):
    """The session is a fork or a clone of the one before."""

    previous_session_file: str | None = None


class SessionInfoChangedEvent(Event):
    """The session has another name."""

    name: str | None = None


class _Cancellable(Query):
    answer: ClassVar[type[Record]] = Cancel
    cancelled: bool = False
    skip_conversation_restore: bool = False

    def with_answer(self, answer: Cancel) -> Self:
        """A cancellation is final."""
        return replace(
            self,
            cancelled=answer.cancel,
            skip_conversation_restore=answer.skip_conversation_restore,
        )

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.cancelled


class SessionBeforeSwitchEvent(_Cancellable):
    """Another session is about to take the place of this one."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: str | None = None


class SessionBeforeForkEvent(_Cancellable):
    """The path to an entry is about to become a session of its own."""

    entry_id: str | None
    position: Literal["before", "at"]


class SessionBeforeCompactEvent(BeforeCompact):
    """A compaction is about to begin: it may be cancelled, or done by the handler."""

    answer: ClassVar[type[Record]] = CompactDecision

    def with_answer(self, answer: CompactDecision) -> Self:
        """The last answer counts; a compaction may be a dict with the names of the original."""
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
    """A summary is about to be asked for: what else should it know?"""

    answer: ClassVar[type[Record]] = CompactingAnswer
    reason: CompactionReason
    added: CompactingAnswer = CompactingAnswer()

    def with_answer(self, answer: CompactingAnswer) -> Self:
        """What all say counts."""
        return replace(self, added=self.added.and_then(answer))


class SessionCompactEvent(Compacted):
    """A compaction is in the log."""


class SessionCompactFailedEvent(CompactFailed):
    """A compaction came to nothing."""


class SessionBeforeTreeEvent(Query):
    """The leaf is about to move: it may stay, and the notes may come from the handler."""

    answer: ClassVar[type[Record]] = TreeDecision
    preparation: TreeMove
    decision: TreeDecision = TreeDecision()

    def with_answer(self, answer: TreeDecision) -> Self:
        """Later answers add to and beat earlier ones."""
        given = {name: getattr(answer, name) for name in answer.__struct_fields__}
        if isinstance(given["summary"], dict):
            given["summary"] = Notes(**given["summary"])
        new = {name: value for name, value in given.items() if value is not None}
        return replace(self, decision=replace(self.decision, **new))

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.decision.cancel


class SessionTreeEvent(TreeMoved):
    """The leaf has moved."""


class UserBashEvent(Query):
    """The person wants to run a command: run it instead, say how, or raise to forbid it."""

    answer: ClassVar[type[Record]] = UserBashAnswer
    command: str
    exclude_from_context: bool
    cwd: str
    result: BashResult | None = None
    operations: RunCommand | None = None
    refused: str = ""

    def with_answer(self, answer: UserBashAnswer) -> Self:
        """The first result, or way to get one, counts."""
        given = answer.result
        result = BashResult(**given) if isinstance(given, dict) else given
        return replace(self, result=result, operations=answer.operations)

    def after_failure(self, problem: Exception) -> Self:
        """A guard that failed guards all the same."""
        return replace(self, refused=str(problem) or type(problem).__name__)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to run."""
        return self.result is not None or self.operations is not None or bool(self.refused)


class UiPromptStartEvent(Event):
    """The person is about to be asked something."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"


class UiPromptEndEvent(Event):
    """The person is no longer asked."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"


class CacheWarmingDecisionEvent(Query):
    """Whether a provider's cache is worth keeping warm."""

    answer: ClassVar[type[Record]] = CacheWarmingAnswer
    warm_cost: float
    miss_cost: float
    continuation_probability: float
    action: Literal["warm", "stop"]

    def with_answer(self, answer: CacheWarmingAnswer) -> Self:
        """The last answer counts."""
        return replace(self, action=answer.action)


# What somebody says before it is a message, and what handlers may make of it.


class InputAnswer(Record):
    """Answer to ``input``."""

    action: Literal["continue", "transform", "handled"]
    text: str = ""
    images: tuple[Image, ...] | None = None


class SaidInput(Query):
    """Somebody said something; it may be changed, or taken care of, before it is a message."""

    text: str
    images: tuple[Image, ...] = ()
    source: Literal["interactive", "rpc", "extension"] = "interactive"
    handled: bool = False

    def with_answer(self, answer: InputAnswer) -> Self:
        """Changes add up until somebody has taken care of it."""
        if answer.action == "handled":
            return replace(self, handled=True)
        if answer.action == "transform":
            images = self.images if answer.images is None else answer.images
            return replace(self, text=answer.text, images=images)
        return self

    @property
    def is_settled(self) -> bool:
        """Whether somebody has taken care of it."""
        return self.handled


# What a session tells beside what its agent tells.
#
# The first ones are public: their JSON form is that of JSON mode and RPC. The others go over the
# bus, where extensions hear them.


StartReason: TypeAlias = Literal["startup", "reload", "new", "resume", "fork"]
EndReason: TypeAlias = Literal["quit", "reload", "new", "resume", "fork"]


class ThinkingLevelChanged(Record, tag="thinking_level_changed"):
    """The model thinks more, or less, from now on."""

    level: ThinkingLevel


class SessionInfoChanged(Record, tag="session_info_changed"):
    """The session has another name."""

    name: str | UnsetType = UNSET


class SessionStarted(Event):
    """A session is there, and everything that belongs to it."""

    reason: StartReason
    previous_session_file: Path | None = None


class SessionEnding(Event):
    """A session is about to be left."""

    reason: EndReason
    target_session_file: Path | None = None


class SwitchDecision(Record):
    """A handler's answer to ``BeforeSwitch`` or ``BeforeFork``."""

    cancel: bool = False
    keep_conversation: bool = False
    """Of a fork: whether all that was said stays, also what came after the entry."""


class BeforeSwitch(Query):
    """Another session is about to take the place of this one."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: Path | None = None
    cancelled: bool = False

    def with_answer(self, answer: SwitchDecision) -> Self:
        """A cancellation is final."""
        return replace(self, cancelled=answer.cancel)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.cancelled


class BeforeFork(Query):
    """The path to an entry is about to become a session of its own."""

    entry_id: str | None
    position: Literal["before", "at"]
    cancelled: bool = False
    keep_conversation: bool = False

    def with_answer(self, answer: SwitchDecision) -> Self:
        """A cancellation is final."""
        return replace(self, cancelled=answer.cancel, keep_conversation=answer.keep_conversation)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.cancelled


class Switched(Event):
    """Another session has taken the place of the one before."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: Path | None = None


class Input(SaidInput):
    """Somebody said something; it may be changed, or taken care of, before it is a message."""

    streaming: Streaming | None = None


class RunAnswer(Record):
    """A handler's answer to ``BeforeRun``."""

    parts: PromptParts
    messages: tuple[SessionMessage, ...] = ()


class BeforeRun(Query):
    """A prompt is about to be answered: with what instructions, and what else is said?"""

    text: str
    images: tuple[Image, ...]
    parts: PromptParts
    messages: tuple[SessionMessage, ...] = ()
    """Said after the prompt."""

    def with_answer(self, answer: RunAnswer) -> Self:
        """The last instructions count, messages add up."""
        return replace(self, parts=answer.parts, messages=self.messages + answer.messages)


class ModelSelected(Event):
    """Another model answers from now on."""

    model: Model
    previous: Model | None
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelected(Event):
    """The level has changed."""

    level: ThinkingLevel
    previous: ThinkingLevel


class UserBash(Query):
    """The person wants to run a command; somebody else may have run it already, or forbid it."""

    command: str
    exclude_from_context: bool
    cwd: str
    on_text: OnOutput = lambda text: None
    """Told what the command writes, whoever runs it."""
    result: BashResult | None = None
    refused: str = ""

    def with_answer(self, answer: BashResult) -> Self:
        """The first result counts."""
        return replace(self, result=answer)

    def after_failure(self, problem: Exception) -> Self:
        """A guard that failed guards all the same."""
        return replace(self, refused=str(problem) or type(problem).__name__)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to run."""
        return self.result is not None or bool(self.refused)


class WarmCache(Query):
    """Whether a provider's cache of the conversation is worth reading once more."""

    warm_cost: float
    miss_cost: float
    continuation_probability: float
    action: Literal["warm", "stop"]

    def with_answer(self, answer: Literal["warm", "stop"]) -> Self:
        """The last answer counts."""
        return replace(self, action=answer)
