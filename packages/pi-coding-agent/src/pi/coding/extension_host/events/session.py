"""Events of the session, published by ``runtime`` and handled by extensions.

Every session emits some of these. Events that need a user or an extension are in ``queries`` and
``dialogs``, whose import is deferred.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType

from pi.ai.messages import Image
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.port.results import Streaming
from pi.coding.session.entries import BranchSummary


class ResourcesAnswer(Record):
    """Answer to ``resources_discover``."""

    skill_paths: tuple[str, ...] = ()
    prompt_paths: tuple[str, ...] = ()
    theme_paths: tuple[str, ...] = ()


class ResourcesDiscoverEvent(Query):
    """Collects additional skills, prompt templates and themes."""

    answer: ClassVar[type[Record]] = ResourcesAnswer
    cwd: str
    reason: Literal["startup", "reload"]
    found: ResourcesAnswer = ResourcesAnswer()

    def with_answer(self, answer: ResourcesAnswer) -> Self:
        """Add the paths."""
        merged = ResourcesAnswer(
            skill_paths=self.found.skill_paths + answer.skill_paths,
            prompt_paths=self.found.prompt_paths + answer.prompt_paths,
            theme_paths=self.found.theme_paths + answer.theme_paths,
        )
        return replace(self, found=merged)


class SessionStartEvent(Event):
    """The session has started, and the user interface is attached."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionShutdownEvent(Event):
    """The session is about to end; tasks of the extension are stopped afterwards."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]
    target_session_file: str | None = None


class SessionAbortEvent(Event):
    """The user or a client has aborted the session's work, even if no run was in progress."""

    was_idle: bool = False
    """Whether there was no run to abort."""


class SessionSwitchEvent(Event):
    """Another session has replaced this one."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionForkEvent(Event):
    """The session was forked or cloned from the previous one."""

    previous_session_file: str | None = None


class SessionTreeEvent(Event):
    """The leaf has moved."""

    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: BranchSummary | None = None
    from_extension: bool = False


class SessionInfoChangedEvent(Event):
    """The session was renamed."""

    name: str | None = None


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
        """Apply a change; ``handled`` is final."""
        if answer.action == "handled":
            return replace(self, handled=True)
        if answer.action == "transform":
            images = self.images if answer.images is None else answer.images
            return replace(self, text=answer.text, images=images)
        return self

    @property
    def is_settled(self) -> bool:
        """Whether a handler has handled the input."""
        return self.handled


# The next two records are events of JSON mode and RPC. Extensions get ``ThinkingLevelSelectEvent``
# and ``SessionInfoChangedEvent``, whose names and defaults are those of the original pi.


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
