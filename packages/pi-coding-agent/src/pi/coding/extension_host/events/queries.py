"""Queries of the session: actions that extensions may change, replace or cancel; user commands."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType

from pi.ai.messages import Usage
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.extension_host.events.answers import (
    CacheWarmingAnswer,
    Cancel,
    RunCommand,
    UserBashAnswer,
)
from pi.coding.session.entries import Entry
from pi.coding.shell.local import BashResult


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


class UserCommandStartEvent(Event):
    """A command or code of the user is about to run, after all handlers have returned."""

    prefix: str
    """``!`` for shell commands, or the prefix of an input mode, e.g. ``$``."""
    text: str


class UserCommandEndEvent(Event):
    """A command or code of the user has ended, with or without an error."""

    prefix: str
    text: str


class Notes(Record):
    """A branch summary supplied by a handler."""

    summary: str
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


class TreeMove(Record):
    """A pending move of the leaf."""

    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """The entries of the branch that is left."""
    user_wants_summary: bool = False
    custom_instructions: str = ""
    replace_instructions: bool = False
    label: str = ""

    @property
    def entries_to_summarize(self) -> tuple[Entry, ...]:
        """``entries``, under the name that extensions of the original pi expect."""
        return self.entries


class TreeDecision(Record):
    """Answer to ``session_before_tree``; omitted fields stay unchanged."""

    cancel: bool = False
    summary: Notes | None = None
    custom_instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None


class SessionBeforeTreeEvent(Query):
    """The leaf is about to move; a handler can cancel the move or provide the summary."""

    answer: ClassVar[type[Record]] = TreeDecision
    preparation: TreeMove
    decision: TreeDecision = TreeDecision()

    def with_answer(self, answer: TreeDecision) -> Self:
        """Later answers override earlier ones field by field."""
        fields = {name: getattr(answer, name) for name in answer.__struct_fields__}
        if isinstance(fields["summary"], dict):
            fields["summary"] = Notes(**fields["summary"])
        new = {name: value for name, value in fields.items() if value is not None}
        return replace(self, decision=replace(self.decision, **new))

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.decision.cancel

    @property
    def decided_move(self) -> TreeMove:
        """The move with the changes of handlers."""
        changes = {
            name: value
            for name in ("custom_instructions", "replace_instructions", "label")
            if (value := getattr(self.decision, name)) is not None
        }
        return replace(self.preparation, **changes)


class UserBashEvent(Query):
    """The user runs a shell command; a handler can run it, return a runner, or raise to refuse."""

    answer: ClassVar[type[Record]] = UserBashAnswer
    command: str
    exclude_from_context: bool
    cwd: str
    result: BashResult | None = None
    operations: RunCommand | None = None
    refused: str = ""

    def with_answer(self, answer: UserBashAnswer) -> Self:
        """The first result or runner wins."""
        raw_result = answer.result
        result = BashResult(**raw_result) if isinstance(raw_result, dict) else raw_result
        return replace(self, result=result, operations=answer.operations)

    def after_failure(self, error: Exception) -> Self:
        """Refuse the command: a broken guard must not let commands through."""
        return replace(self, refused=str(error) or type(error).__name__)

    @property
    def is_settled(self) -> bool:
        """Whether there is a result, a runner, or a refusal."""
        return self.result is not None or self.operations is not None or bool(self.refused)


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
