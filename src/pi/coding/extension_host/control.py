"""The session as extensions reach it: its parts, and what puts another in its place."""

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
    """Whether somebody has prevented what was wanted."""

    cancelled: bool


class TreeOptions(TypedDict, total=False):
    """What to do with the branch that is left."""

    summarize: bool
    custom_instructions: str
    replace_instructions: bool
    label: str


class SessionControl(Protocol):
    """Another session in the place of this one, or another place in it; only at rest."""

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        ...

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Begin a new session; ``setup`` is given it before anybody is told."""
        ...

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Go on in a copy of what led to an entry."""
        ...

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Go on with the session of a file."""
        ...

    async def navigate_tree(self, entry_id: str, **how: Unpack[TreeOptions]) -> Any:
        """Go on after another entry of this session."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...

    async def open_replica(self, header: Json, remote: Remote) -> Replica | None:
        """Show a session that runs elsewhere; ``None`` if an extension wants to stay here."""
        ...

    def when_idle(
        self, act: Callable[[], Awaitable[None]], *, before_next_prompt: bool = True
    ) -> None:
        """Have ``act`` carried out at the next rest; prompts wait for it, or may come first."""
        ...

    def shutdown(self) -> None:
        """Ask the program to end."""
        ...

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """A session that works for this one."""
        ...


Setup: TypeAlias = Callable[[SessionLog], Awaitable[None] | None]


class HostedSession(Protocol):
    """A session that extensions belong to."""

    @property
    def place(self) -> SessionPlace:
        """Where it works."""
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
        """Who answers."""
        ...

    @property
    def tools(self) -> SessionTools:
        """The tools."""
        ...

    @property
    def facts(self) -> SessionFacts:
        """Questions about it."""
        ...

    @property
    def events(self) -> SessionEvents:
        """What it tells."""
        ...

    @property
    def control(self) -> SessionControl:
        """What needs rest."""
        ...
