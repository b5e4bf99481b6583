"""Protocols of the parts of a session that change it: prompts, runs, sessions, tree, shell.

``queries`` has the protocols of the parts that are mostly read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pi.agent.env import OnOutput
from pi.agent.policy import Next
from pi.ai.auth.login import LoginUI
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Image, Json, SystemMessage
from pi.coding.compaction.events import CompactionResult
from pi.coding.port.results import (
    Account,
    Disposition,
    Forked,
    InputSource,
    Navigated,
    Queues,
    Replaced,
    Streaming,
)
from pi.coding.resources.prompts import MissingValues
from pi.coding.session.entries import Entry, SessionMessage
from pi.coding.shell.local import BashResult

if TYPE_CHECKING:  # for annotations only: this module is imported at start-up
    from pi.agent.events import RunState
    from pi.agent.policy import Request
    from pi.agent.response import StreamingResponse
    from pi.coding.compaction.execution import CompactionPreview
    from pi.coding.port.remote import Remote, Replica
    from pi.coding.prompt import PromptParts


Accepted: TypeAlias = Callable[[Disposition], Awaitable[None] | None]
"""Called once a prompt is accepted, before the run starts, with what becomes of it."""

Fill: TypeAlias = Callable[[MissingValues], Awaitable[Mapping[str, str] | None]]
"""Returns values for the missing variables of a template; ``None`` if the user cancelled."""


class PromptPort(Protocol):
    """Prompts and message queues."""

    @property
    def pending(self) -> Sequence[Any]:
        """Queued messages that wait for delivery."""
        ...

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        streaming: Streaming | None = None,
        source: InputSource = "interactive",
        accepted: Accepted | None = None,
        fill: Fill | None = None,
        check: Callable[[str], None] | None = None,
    ) -> Next | None:
        """Send a prompt and wait until the agent is idle again.

        During a run ``streaming`` selects the queue; without it the prompt is refused. ``accepted``
        is called before the run starts. ``fill`` returns missing values of a template. ``check`` is
        called with a text that is not a command, skill or template, and may raise to refuse it.
        Returns ``None`` if no run was started.
        """
        ...

    async def steer(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> Disposition:
        """Deliver a message after the tools of the current turn; ``handled`` by an extension, or
        ``queued``.
        """
        ...

    async def follow_up(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> Disposition:
        """Deliver a message when the agent would stop; returns the same as ``steer``."""
        ...

    def system_message(self) -> SystemMessage:
        """Return the system prompt and the tools of the next run."""
        ...

    async def clear_queue(self) -> Queues:
        """Remove and return all queued messages."""
        ...

    def start(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Start a run as if the user had sent the prompt; ``meta`` is stored with it."""
        ...

    def begin_with(self, message: SessionMessage) -> Awaitable[None]:
        """Start a run with a message that is not a prompt; returns its task."""
        ...

    def next_request(self) -> Request:
        """Return the request that the model would get now; nothing is sent."""
        ...

    def parts(self) -> PromptParts:
        """Return the parts of the current system prompt."""
        ...

    def sections(self) -> dict[str, str]:
        """Return the sections of the current system prompt."""
        ...


class IdleActions(Protocol):
    """Actions that wait until the agent is idle."""

    def add(self, act: Callable[[], Awaitable[None]], *, before_next_prompt: bool = True) -> None:
        """Call ``act`` once the agent is idle; with ``before_next_prompt`` prompts wait for it."""
        ...


class RunsPort(Protocol):
    """The current run. Nothing here waits for its end."""

    @property
    def idle(self) -> bool:
        """Whether no run is active, local or remote."""
        ...

    @property
    def open_answer(self) -> StreamingResponse:
        """The answer that is being streamed: its token, and how to interrupt it."""
        ...

    @property
    def progress(self) -> RunState:
        """Progress of the current run, with the partial answer."""
        ...

    @property
    def when_idle(self) -> IdleActions:
        """Actions that wait until the agent is idle."""
        ...

    def require_idle(self) -> None:
        """Raise ``AgentBusy`` during a run, ``WouldDeadlock`` from inside it."""
        ...

    async def queue(self, message: SessionMessage, *, follow_up: bool) -> None:
        """Queue a message for the current run."""
        ...

    def abort(self) -> None:
        """Request the end of the run, local or remote."""
        ...

    def refresh_policies(self) -> None:
        """Use the current policies from the next run on."""
        ...


class SessionsPort(Protocol):
    """Replaces this session with another one."""

    async def new(self, parent_session: str | None = None) -> Replaced:
        """Start a new session."""
        ...

    async def switch(self, path: Path) -> Replaced:
        """Resume the session in a file."""
        ...

    async def fork(self, entry_id: str) -> Forked:
        """Fork before a user message."""
        ...

    async def fork_at(self, entry_id: str) -> Replaced:
        """Fork after an entry."""
        ...

    async def fork_file(self, path: Path) -> Replaced:
        """Fork the session in a file, which another process may have open."""
        ...

    async def clone(self) -> Replaced:
        """Clone the current branch into a new session."""
        ...

    async def import_file(self, path: Path) -> Replaced:
        """Import a session file and resume the copy."""
        ...

    async def open_replica(
        self, header: Json, remote: Remote, *, file: Path | None = None
    ) -> Replica | None:
        """Show a remote session instead; ``None`` if an extension cancelled it.

        ``file`` stores a copy.
        """
        ...

    async def reload(self) -> None:
        """Reload settings, resources and extensions; the conversation is kept."""
        ...


class TreePort(Protocol):
    """Moves the leaf of the session."""

    async def go_to(
        self,
        id: str,
        *,
        summarize: bool = False,
        instructions: str = "",
        replace_instructions: bool = False,
        label: str = "",
    ) -> Navigated:
        """Move the leaf to an entry."""
        ...

    def abort(self) -> None:
        """Abort the branch summary that is being written."""
        ...


class ShellPort(Protocol):
    """Shell commands of the user."""

    async def run(
        self,
        command: str,
        *,
        exclude_from_context: bool = False,
        on_text: OnOutput = lambda text: None,
        shows_style: bool = False,
    ) -> BashResult:
        """Run a command to its end; ``on_text`` is called with its output as it arrives.

        ``shows_style`` keeps colours in these texts, for a screen; the result has no colours.
        """
        ...

    def stop(self) -> None:
        """Kill all running commands."""
        ...


class CompactionPort(Protocol):
    """Compacts the conversation."""

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        ...

    async def compact(self, instructions: str = "", *, strategy: str = "") -> CompactionResult:
        """Compact now, with the named strategy or the configured one."""
        ...

    async def preview(self, instructions: str = "", *, strategy: str = "") -> CompactionPreview:
        """Return what ``compact`` would drop and keep; nothing is stored."""
        ...

    def strategies(self) -> dict[str, str]:
        """Return all strategies with their descriptions."""
        ...

    def abort(self) -> None:
        """Abort the running compaction."""
        ...

    def dropped(self) -> Sequence[Entry]:
        """Return the entries that compaction removed from the model's context."""
        ...


class AccountsPort(Protocol):
    """Credentials and logins of the user."""

    @property
    def storage(self) -> AuthStorage:
        """The user's credential store."""
        ...

    async def all(self) -> tuple[Account, ...]:
        """Return every provider, and whether it has credentials."""
        ...

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Log in to a provider and store the credentials."""
        ...

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        """Ask for an API key and store it."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """Return the user's API keys and tokens, for redaction."""
        ...
