"""Protocols of the session for extensions: its parts, and replacing it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

from pi.ai.messages import Json
from pi.base.records import Record
from pi.coding.port.results import SubSession
from pi.coding.port.session import NestedSession
from pi.coding.session.log import SessionLog

if TYPE_CHECKING:
    from pi.coding.extension_host.session_parts import (
        SessionEvents,
        SessionFacts,
        SessionModels,
        SessionPlace,
        SessionRuns,
        SessionTalk,
        SessionTools,
    )
    from pi.coding.port.remote import Remote, Replica


class Cancelled(Record):
    """Whether an extension cancelled the action."""

    cancelled: bool


class TreeOptions(TypedDict, total=False):
    """What to do with the branch that is left."""

    summarize: bool
    custom_instructions: str
    replace_instructions: bool
    label: str


class SessionControl(Protocol):
    """Replaces the session or moves its leaf; only while the agent is idle."""

    async def wait_for_idle(self) -> None:
        """Wait until no run is in progress."""
        ...

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Start a new session; ``setup`` gets its log before events are emitted."""
        ...

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Continue in a copy of the branch up to an entry."""
        ...

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Continue the session of a file."""
        ...

    async def navigate_tree(self, entry_id: str, **how: Unpack[TreeOptions]) -> Any:
        """Continue after another entry of this session."""
        ...

    async def reload(self) -> None:
        """Reload settings, resources and extensions."""
        ...

    async def open_replica(self, header: Json, remote: Remote) -> Replica | None:
        """Show a remote session; ``None`` if an extension cancelled it."""
        ...

    def when_idle(
        self, act: Callable[[], Awaitable[None]], *, before_next_prompt: bool = True
    ) -> None:
        """Call ``act`` when idle next; prompts wait for it if ``before_next_prompt``."""
        ...

    def shutdown(self) -> None:
        """Request the end of the program."""
        ...

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """Open a nested session."""
        ...


Setup: TypeAlias = Callable[[SessionLog], Awaitable[None] | None]


class HostedSession(Protocol):
    """The session of the extensions."""

    @property
    def place(self) -> SessionPlace:
        """Working directory and services."""
        ...

    @property
    def talk(self) -> SessionTalk:
        """The conversation."""
        ...

    @property
    def runs(self) -> SessionRuns:
        """Runs of the agent."""
        ...

    @property
    def models(self) -> SessionModels:
        """Models and thinking level."""
        ...

    @property
    def tools(self) -> SessionTools:
        """The tools."""
        ...

    @property
    def facts(self) -> SessionFacts:
        """Queries."""
        ...

    @property
    def events(self) -> SessionEvents:
        """Public events."""
        ...

    @property
    def control(self) -> SessionControl:
        """Replacing the session."""
        ...
