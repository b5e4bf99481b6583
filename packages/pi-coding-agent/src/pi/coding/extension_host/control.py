"""``SessionControl``: replaces the session or moves its leaf, for extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from pi.ai.messages import Json
from pi.base.records import Record
from pi.base.tasks import maybe_await
from pi.coding.extension_host.errors import check_options, check_value
from pi.coding.port.session import SessionPort
from pi.coding.session.log import SessionLog

if TYPE_CHECKING:
    from pi.coding.port.remote import Remote, Replica

Setup: TypeAlias = Callable[[SessionLog], Awaitable[None] | None]


class Cancelled(Record):
    """Whether an extension cancelled the action."""

    cancelled: bool


class TreeOptions(TypedDict, total=False):
    """Options of ``navigate_tree``: the summary of the branch that is left, and a label."""

    summarize: bool
    custom_instructions: str
    replace_instructions: bool
    label: str


class SessionControl:
    """Replaces the session or moves its leaf; only while the agent is idle.

    Modes abort the current run instead. Unlike a context, a ``SessionControl`` stays usable after
    the session was replaced.
    """

    def __init__(self, session: SessionPort) -> None:
        self._session = session
        self.wait_for_idle = session.wait_for_idle
        """Waits until no run is in progress."""
        self.when_idle = session.runs.when_idle.add
        """Calls a function once the agent is idle; with ``before_next_prompt`` prompts wait."""
        self.open_nested = session.open_nested
        """Opens a nested session."""

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Start a new session; ``setup`` gets its log before the first message."""
        self._session.runs.require_idle()
        done = await self._session.sessions.new(parent_session)
        if setup is not None and not done.cancelled:
            await maybe_await(setup(self._session.entries.log))
        return Cancelled(cancelled=done.cancelled)

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Continue in a new session with the branch up to an entry, or before it."""
        check_value("a position", position, ("before", "at"))
        self._session.runs.require_idle()
        if position == "before":
            return await self._session.sessions.fork(entry_id)
        return await self._session.sessions.fork_at(entry_id)

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Continue the session of a file."""
        self._session.runs.require_idle()
        done = await self._session.sessions.switch(Path(path))
        return Cancelled(cancelled=done.cancelled)

    async def navigate_tree(self, entry_id: str, **options: Unpack[TreeOptions]) -> Any:
        """Continue after another entry of this session."""
        check_options("navigate_tree", options, TreeOptions)
        self._session.runs.require_idle()
        return await self._session.tree.go_to(
            entry_id,
            summarize=options.get("summarize", False),
            instructions=options.get("custom_instructions", ""),
            replace_instructions=options.get("replace_instructions", False),
            label=options.get("label", ""),
        )

    async def reload(self) -> None:
        """Reload settings, resources and extensions."""
        await self._session.sessions.reload()

    async def open_replica(
        self, header: Json, remote: Remote, *, file: Path | None = None
    ) -> Replica | None:
        """Show a remote session; ``None`` if an extension cancelled it. ``file`` keeps a copy."""
        self._session.runs.require_idle()
        return await self._session.sessions.open_replica(header, remote, file=file)

    def shutdown(self) -> None:
        """Request the end of the program once the agent is idle."""

        async def end() -> None:
            self._session.extensions.shutdown_requested.set()

        self.when_idle(end)
