"""What modes talk to: a session here, or a replica of one that runs elsewhere.

Commands go in, events come out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pi.agent.listeners import Listener
from pi.coding.runtime.extensions_port import ExtensionsPort
from pi.coding.runtime.port_parts import (
    AccountsPort,
    CompactionPort,
    ExportsPort,
    FactsPort,
    ModelPort,
    PromptPort,
    RetryPort,
    SessionsPort,
    ShellPort,
    TreePort,
)
from pi.coding.settings.settings import Settings


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
    def retry(self) -> RetryPort:
        """Asking again after a failed answer."""
        ...

    @property
    def exports(self) -> ExportsPort:
        """The session for others."""
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

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        ...

    async def close(self) -> None:
        """End what is under way and let everything go."""
        ...
