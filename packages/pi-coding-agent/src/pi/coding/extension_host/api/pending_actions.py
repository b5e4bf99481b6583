"""Pending actions: changes that a tool has proposed, until they are applied or discarded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from pi.agent.tools.results import to_tool_result
from pi.agent.tools.tool import ToolFailed, ToolResult
from pi.base.records import Record
from pi.base.tasks import maybe_await
from pi.coding.extension_host.errors import ExtensionError

NO_STACK = "Pending action store unavailable for custom tools in this runtime."
NOTHING_PENDING = "No pending action to resolve. Nothing to apply or discard."

Act: TypeAlias = Callable[[str], Awaitable[Any] | Any]
"""Called with the reason that the model wrote; returns a tool result."""


class PendingAction(Record, eq=False):
    """A change that a tool has previewed; the model applies or discards it later."""

    label: str
    """A short summary for the model and the user."""
    apply: Act
    """Makes the change; returns the result for the model."""
    reject: Act | None = None
    """Cleans up after the action was discarded; its result replaces the default one."""
    details: Any = None
    files: tuple[str, ...] = ()
    """The files that ``apply`` writes, for permission guards."""
    source_tool_name: str = "custom_tool"


class PendingActions:
    """The pending actions of a session: a stack that tools fill and one extension resolves.

    Part of pi, so that the tools that preview changes do not depend on the tool that resolves them.
    """

    def __init__(self) -> None:
        self._actions: list[PendingAction] = []
        self._resolvers: list[object] = []
        self._listeners: list[Callable[[], None]] = []

    @property
    def has_pending(self) -> bool:
        """Whether there is an action."""
        return bool(self._actions)

    @property
    def all(self) -> tuple[PendingAction, ...]:
        """All actions, the oldest first."""
        return tuple(self._actions)

    def peek(self) -> PendingAction | None:
        """The action that is resolved next: the newest."""
        return self._actions[-1] if self._actions else None

    def pop(self) -> PendingAction | None:
        """Remove and return the newest action."""
        if not self._actions:
            return None
        action = self._actions.pop()
        self._notify()
        return action

    def push(self, action: PendingAction) -> Callable[[], None]:
        """Add an action. Returns a function that removes it.

        Raises ``ExtensionError`` if no extension resolves actions: the action would never end.
        """
        if not self._resolvers:
            raise ExtensionError(NO_STACK, hint="Enable a tool that resolves pending actions.")
        self._actions.append(action)
        self._notify()
        return partial(self._drop, action)

    async def resolve(self, action: Literal["apply", "discard"], reason: str) -> ToolResult:
        """Apply or discard the newest action, and return the result for the model.

        Raises ``ToolFailed`` if there is none. The action is removed even if it fails.
        """
        pending = self.pop()
        if pending is None:
            raise ToolFailed(NOTHING_PENDING)
        if action == "apply":
            return to_tool_result(await maybe_await(pending.apply(reason)))
        done = None if pending.reject is None else await maybe_await(pending.reject(reason))
        if done is None:
            return ToolResult.of(f"Discarded: {pending.label}")
        return to_tool_result(done)

    def add_resolver(self) -> Callable[[], None]:
        """Record that an extension resolves actions. Returns a function that removes the record."""
        mark = object()
        self._resolvers.append(mark)
        return lambda: self._resolvers.remove(mark) if mark in self._resolvers else None

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after every change. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def clear(self) -> None:
        """Remove all actions, resolvers and listeners, at the end of the session."""
        self._actions.clear()
        self._resolvers.clear()
        self._listeners.clear()

    def _drop(self, action: PendingAction) -> None:
        remaining = [pending for pending in self._actions if pending is not action]
        if len(remaining) != len(self._actions):
            self._actions = remaining
            self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()
