"""``SessionPort``: the session as modes and extensions use it.

Modes and extensions call its parts and subscribe to its events. The session is local, or a replica
of a remote one. ``actions`` and ``queries`` have the protocols of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pi.agent.events import Kinds, Listener
from pi.ai.messages import AssistantMessage
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.port.extensions import ExtensionsPort
from pi.coding.port.results import (
    SubSession,
)
from pi.coding.session.entries import SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # for annotations only: this module is imported at start-up
    from pi.ai.http.client import HttpClient
    from pi.coding.port.actions import (
        AccountsPort,
        CompactionPort,
        PromptPort,
        RunsPort,
        SessionsPort,
        ShellPort,
        TreePort,
    )
    from pi.coding.port.queries import (
        EntriesPort,
        ExportsPort,
        InfoPort,
        ModelPort,
        ToolsPort,
        WorkspacePort,
    )
    from pi.coding.retry import RetryPolicy


class NestedSession(Protocol):
    """The part of a session that the handle of a nested session needs."""

    @property
    def messages(self) -> Sequence[SessionMessage]:
        """The messages of the model's context."""
        ...

    @property
    def session_file(self) -> Path | None:
        """The session file; ``None`` in memory."""
        ...

    async def prompt(self, text: str) -> AssistantMessage | None:
        """Send a prompt; returns the last answer."""
        ...

    async def steer(self, text: str) -> None:
        """Deliver a message after the tools of the current turn."""
        ...

    async def abort(self) -> None:
        """Abort the current run."""
        ...

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe to every public event. Returns an unsubscribe function."""
        ...

    async def close(self) -> None:
        """Close the session."""
        ...


class SessionPort(Protocol):
    """A session as modes and extensions use it."""

    @property
    def prompts(self) -> PromptPort:
        """Prompts and message queues."""
        ...

    @property
    def runs(self) -> RunsPort:
        """The current run."""
        ...

    @property
    def models(self) -> ModelPort:
        """Model and thinking level."""
        ...

    @property
    def tools(self) -> ToolsPort:
        """All tools, and the active ones."""
        ...

    @property
    def entries(self) -> EntriesPort:
        """The log, and appending to it."""
        ...

    @property
    def workspace(self) -> WorkspacePort:
        """The current working directory."""
        ...

    @property
    def artifacts(self) -> Artifacts:
        """Long outputs of the session, by number."""
        ...

    @property
    def sessions(self) -> SessionsPort:
        """Replace this session with another one."""
        ...

    @property
    def tree(self) -> TreePort:
        """Move the leaf of the session."""
        ...

    @property
    def shell(self) -> ShellPort:
        """Shell commands of the user."""
        ...

    @property
    def compaction(self) -> CompactionPort:
        """Compact the conversation."""
        ...

    @property
    def retry(self) -> RetryPolicy:
        """Retry of failed answers."""
        ...

    @property
    def exports(self) -> ExportsPort:
        """Exports of the session."""
        ...

    @property
    def info(self) -> InfoPort:
        """Read-only queries, name and labels."""
        ...

    @property
    def accounts(self) -> AccountsPort:
        """Credentials and logins of the user."""
        ...

    @property
    def extensions(self) -> ExtensionsPort:
        """Extensions of the session."""
        ...

    @property
    def settings(self) -> Settings:
        """The merged settings of the session."""
        ...

    def subscribe(self, listener: Listener, *, kinds: Kinds | None = None) -> Callable[[], None]:
        """Subscribe to public events, all or those of ``kinds``, in order.

        Returns an unsubscribe function.
        """
        ...

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of leaf, model or level that have no public event.

        Returns an unsubscribe function.
        """
        ...

    async def emit(self, event: Any) -> None:
        """Emit a public event, in order with those of the agent."""
        ...

    def http(self) -> HttpClient:
        """The HTTP client, configured by the settings."""
        ...

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """Open a nested session; the caller closes it."""
        ...

    def since_session_ms(self) -> int:
        """Milliseconds since this session was opened here, by a monotonic clock.

        Starts at zero when a session is opened, resumed or switched to.
        """
        ...

    async def abort(self) -> None:
        """Abort all running work, and wait until it has ended."""
        ...

    async def wait_for_idle(self) -> None:
        """Wait until nothing is running."""
        ...

    async def close(self) -> None:
        """Abort all running work and close the session."""
        ...
