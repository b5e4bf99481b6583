"""What modes talk to: a session here, or a replica of one that runs elsewhere.

Commands go in, events come out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi.agent.listeners import Listener
from pi.coding.runtime.port_parts import (
    AccountsPort,
    CompactionPort,
    ExtensionsPort,
    FactsPort,
    ModelPort,
    PromptPort,
    SessionsPort,
    ShellPort,
    TreePort,
)
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # most sessions are never exported
    from pi.coding.export.share import Shared


class SessionPort(Protocol):
    """A session as modes see it."""

    @property
    def prompts(self) -> PromptPort:
        """Saying something."""
        ...

    @property
    def models(self) -> ModelPort:
        """Who answers."""
        ...

    @property
    def sessions(self) -> SessionsPort:
        """Other sessions."""
        ...

    @property
    def tree(self) -> TreePort:
        """Moving within the session."""
        ...

    @property
    def shell(self) -> ShellPort:
        """Commands of the person."""
        ...

    @property
    def compaction(self) -> CompactionPort:
        """Making the conversation shorter."""
        ...

    @property
    def facts(self) -> FactsPort:
        """Questions."""
        ...

    @property
    def accounts(self) -> AccountsPort:
        """Logging in and out."""
        ...

    @property
    def extensions(self) -> ExtensionsPort:
        """What extensions add to modes."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings that hold for the session."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with every public event, in order."""
        ...

    def since_session_ms(self) -> int:
        """How long this session has been going on."""
        ...

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        ...

    async def abort_retry(self) -> None:
        """Give up the retry that is being waited for."""
        ...

    def set_auto_retry(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        ...

    def set_queue_modes(self, *, steering: str | None = None, follow_up: str | None = None) -> None:
        """Say for this session how queued messages are delivered."""
        ...

    async def export(self, output: str | None = None) -> Path:
        """Write the session as a page, or as what the name of ``output`` says."""
        ...

    async def dump(self) -> str:
        """The branch as text; empty if nothing was said."""
        ...

    async def share(self) -> Shared:
        """Pass the session on as a page."""
        ...

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        ...

    async def close(self) -> None:
        """End what is under way and let everything go."""
        ...
