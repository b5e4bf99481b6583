"""What a session tells beside what its agent tells.

The first ones are public: their JSON form is that of JSON mode and RPC. The others go over the
bus, where extensions hear them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from pi.ai.messages import Image
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import UNSET, Record, UnsetType, replace
from pi.coding.bus import Event, Question
from pi.coding.extension_host.failures import ExtensionFailed
from pi.coding.extension_host.said_input import InputAnswer, SaidInput
from pi.coding.prompt.sections import PromptParts
from pi.coding.session.messages import SessionMessage
from pi.coding.shell.user_commands import BashResult

if TYPE_CHECKING:
    from pi.agent.env import OnOutput

__all__ = [
    "BeforeFork",
    "BeforeRun",
    "BeforeSwitch",
    "EndReason",
    "ExtensionFailed",
    "Input",
    "InputAnswer",
    "InputSource",
    "ModelSelected",
    "RunAnswer",
    "SessionEnding",
    "SessionInfoChanged",
    "SessionStarted",
    "StartReason",
    "Streaming",
    "SwitchDecision",
    "Switched",
    "ThinkingLevelChanged",
    "ThinkingLevelSelected",
    "UserBash",
    "WarmCache",
]

StartReason: TypeAlias = Literal["startup", "reload", "new", "resume", "fork"]
EndReason: TypeAlias = Literal["quit", "reload", "new", "resume", "fork"]
InputSource: TypeAlias = Literal["interactive", "rpc", "extension"]
Streaming: TypeAlias = Literal["steer", "followUp"]


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


class BeforeSwitch(Question):
    """Another session is about to take the place of this one."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: Path | None = None
    cancelled: bool = False

    def answered(self, answer: SwitchDecision) -> Self:
        """A cancellation is final."""
        return replace(self, cancelled=answer.cancel)

    @property
    def settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.cancelled


class BeforeFork(Question):
    """The path to an entry is about to become a session of its own."""

    entry_id: str | None
    position: Literal["before", "at"]
    cancelled: bool = False
    keep_conversation: bool = False

    def answered(self, answer: SwitchDecision) -> Self:
        """A cancellation is final."""
        return replace(self, cancelled=answer.cancel, keep_conversation=answer.keep_conversation)

    @property
    def settled(self) -> bool:
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


class BeforeRun(Question):
    """A prompt is about to be answered: with what instructions, and what else is said?"""

    text: str
    images: tuple[Image, ...]
    parts: PromptParts
    messages: tuple[SessionMessage, ...] = ()
    """Said after the prompt."""

    def answered(self, answer: RunAnswer) -> Self:
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


class UserBash(Question):
    """The person wants to run a command; somebody else may have run it already, or forbid it."""

    command: str
    exclude_from_context: bool
    cwd: str
    on_text: OnOutput = lambda text: None
    """Told what the command writes, whoever runs it."""
    result: BashResult | None = None
    refused: str = ""

    def answered(self, answer: BashResult) -> Self:
        """The first result counts."""
        return replace(self, result=answer)

    def after_failure(self, problem: Exception) -> Self:
        """A guard that failed guards all the same."""
        return replace(self, refused=str(problem) or type(problem).__name__)

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to run."""
        return self.result is not None or bool(self.refused)


class WarmCache(Question):
    """Whether a provider's cache of the conversation is worth reading once more."""

    warm_cost: float
    miss_cost: float
    continuation_probability: float
    action: Literal["warm", "stop"]

    def answered(self, answer: Literal["warm", "stop"]) -> Self:
        """The last answer counts."""
        return replace(self, action=answer)
