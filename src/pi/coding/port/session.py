"""``SessionPort``: the session as modes use it, and the protocols of its parts.

Modes call its parts and subscribe to its events. The session is local, or a replica of a remote
one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from pi.agent.env import OnOutput
from pi.agent.events import Listener
from pi.agent.policy import Next
from pi.ai.auth.login import LoginUI
from pi.ai.messages import AssistantMessage, Image
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.providers.chosen_servers import Standing
from pi.coding.compaction.events import CompactionResult
from pi.coding.models.registry import ResolvedModel
from pi.coding.port.extensions import ExtensionsPort
from pi.coding.port.results import (
    Account,
    Command,
    CycledModel,
    Forked,
    ForkPoint,
    InputSource,
    Navigated,
    Queues,
    Replaced,
    SessionState,
    Streaming,
)
from pi.coding.resources.prompts import MissingValues
from pi.coding.session.context import DisplayTranscript
from pi.coding.session.entries import Custom, Entry, SessionHeader, SessionMessage
from pi.coding.session.views import ContextUsage, SessionStats, TreeNode
from pi.coding.settings.settings import Settings
from pi.coding.shell.local import BashResult

if TYPE_CHECKING:
    from pi.coding.export.share import Shared


Accepted: TypeAlias = Callable[[], Awaitable[None] | None]
"""Called once a prompt is accepted, before the run starts."""

Fill: TypeAlias = Callable[[MissingValues], Awaitable[Mapping[str, str] | None]]
"""Returns values for the missing variables of a template; ``None`` if the user cancelled."""


class NestedSession(Protocol):
    """The part of a session that the handle of a nested session needs."""

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


class PromptPort(Protocol):
    """Prompts and message queues."""

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
        """Send a prompt and wait until the agent is idle again."""
        ...

    async def steer(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Deliver a message after the tools of the current turn."""
        ...

    async def follow_up(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Deliver a message when the agent would stop."""
        ...

    async def clear_queue(self) -> Queues:
        """Remove and return all queued messages."""
        ...

    def set_queue_modes(self, *, steering: str | None = None, follow_up: str | None = None) -> None:
        """Set for this session how queued messages are delivered."""
        ...


class ModelPort(Protocol):
    """Model and thinking level."""

    @property
    def current(self) -> Model | None:
        """The selected model."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level."""
        ...

    def available(self) -> tuple[Model, ...]:
        """Every model that has credentials."""
        ...

    def offered(self) -> tuple[Model, ...]:
        """Every model that the user can select, including those of local servers."""
        ...

    def found(self) -> tuple[Standing, ...]:
        """Servers found on this machine that are not approved, with their owners."""
        ...

    def levels(self) -> tuple[ThinkingLevel, ...]:
        """The thinking levels that the model supports."""
        ...

    def known(self) -> tuple[Model, ...]:
        """Every known model, including those without credentials."""
        ...

    async def discover(self) -> None:
        """Query the model servers of this machine, so that their models can be selected."""
        ...

    async def select_fallback_model(self) -> None:
        """Select a model that needs no API key, if no model is configured."""
        ...

    @property
    def scope(self) -> tuple[ResolvedModel, ...]:
        """The models to cycle through; empty means all."""
        ...

    def set_scope(self, patterns: Sequence[str]) -> None:
        """Cycle through the models that match the patterns; none means all."""
        ...

    async def select(self, model: Model | str, *, anew: bool = False) -> Model:
        """Select the model that matches a pattern."""
        ...

    async def select_id(self, provider: str, model_id: str, *, anew: bool = False) -> Model:
        """Select a model; ``anew`` also if the owner of its server has changed."""
        ...

    async def cycle(self, step: int = 1) -> CycledModel | None:
        """Select the next model."""
        ...

    async def set_thinking_level(self, level: str) -> None:
        """Set the thinking level."""
        ...

    async def cycle_thinking(self) -> ThinkingLevel | None:
        """Select the next thinking level."""
        ...


class SessionsPort(Protocol):
    """Replacing this session by another one."""

    async def new(self, parent_session: str | None = None) -> Replaced:
        """Start a new session."""
        ...

    async def switch(self, path: Path) -> Replaced:
        """Resume the session in a file."""
        ...

    async def fork(self, entry_id: str) -> Forked:
        """Fork before a user message."""
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


class TreePort(Protocol):
    """Moving within a session."""

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
    ) -> BashResult:
        """Run a command to its end."""
        ...

    def stop(self) -> None:
        """Kill all running commands."""
        ...


class CompactionPort(Protocol):
    """Compacting the conversation."""

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        ...

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Compact now."""
        ...

    def abort(self) -> None:
        """Abort the running compaction."""
        ...

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn automatic compaction on or off for this session."""
        ...

    def dropped(self) -> Sequence[Entry]:
        """Entries that compaction removed from the model's context."""
        ...


class RetryPort(Protocol):
    """Retrying failed answers."""

    async def abort(self) -> bool:
        """Cancel the pending retry. Returns False if none is pending."""
        ...

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn automatic retries on or off for this session."""
        ...


class ExportsPort(Protocol):
    """Exporting the session without the user's secrets."""

    async def write(self, output: str | None = None) -> Path:
        """Write the session as HTML, or in the format of the suffix of ``output``.

        Returns the path.
        """
        ...

    async def text(self) -> str:
        """Return the branch as text; empty if there are no messages."""
        ...

    async def share(self) -> Shared:
        """Upload the session as a web page."""
        ...


class FactsPort(Protocol):
    """Read-only queries, and the name and labels of a session."""

    @property
    def header(self) -> SessionHeader:
        """The header of the session file."""
        ...

    @property
    def cwd(self) -> Path:
        """The working directory: that of the session, or another one if it no longer exists."""
        ...

    @property
    def file(self) -> Path | None:
        """The session file."""
        ...

    @property
    def problem(self) -> str | None:
        """Why the latest entries are not in the file, if writing failed."""
        ...

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        ...

    @property
    def runs_here(self) -> bool:
        """Whether the session runs in this process; False for a replica."""
        ...

    def state(self) -> SessionState:
        """Return the current state."""
        ...

    def stats(self) -> SessionStats:
        """Return token counts and cost."""
        ...

    def context_usage(self) -> ContextUsage | None:
        """Return the usage of the context window."""
        ...

    def messages(self) -> Sequence[SessionMessage]:
        """Return the messages of the model's context."""
        ...

    def transcript(
        self,
        most: int,
        shows: Callable[[Custom], bool] | None = None,
        *,
        end: int | None = None,
    ) -> DisplayTranscript:
        """Return the newest ``most`` messages of the branch for display, compacted ones included.

        ``end`` is that of an earlier transcript; earlier messages are returned then.
        """
        ...

    def entries(self, since: str | None = None) -> list[msgspec.Raw]:
        """Return every entry as it is in the file, or those after ``since``."""
        ...

    def tree(self) -> list[TreeNode]:
        """Return the roots of the tree."""
        ...

    def tree_json(self) -> msgspec.Raw:
        """Return the roots of the tree with their entries, in RPC's format."""
        ...

    def fork_points(self) -> list[ForkPoint]:
        """Return the user messages of all branches, in file order."""
        ...

    def last_answer(self) -> str | None:
        """Return the text of the newest answer."""
        ...

    def commands(self) -> list[Command]:
        """Return all slash commands."""
        ...

    async def rename(self, name: str) -> None:
        """Rename the session."""
        ...

    async def label(self, id: str, label: str | None) -> None:
        """Set or remove the label of an entry."""
        ...


class AccountsPort(Protocol):
    """Logging in and out."""

    async def all(self) -> tuple[Account, ...]:
        """Return every provider, and whether it has credentials."""
        ...

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Log in to a provider and store the credentials."""
        ...

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        """Ask for an API key and store it."""
        ...

    async def log_out(self, provider: str) -> bool:
        """Remove the stored credentials. Returns False if there were none."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """The user's API keys and tokens, for redaction."""
        ...


class SessionPort(Protocol):
    """A session as modes use it."""

    @property
    def prompts(self) -> PromptPort:
        """Prompts and message queues."""
        ...

    @property
    def models(self) -> ModelPort:
        """Model and thinking level."""
        ...

    @property
    def sessions(self) -> SessionsPort:
        """Switching to other sessions."""
        ...

    @property
    def tree(self) -> TreePort:
        """Moving within the session."""
        ...

    @property
    def shell(self) -> ShellPort:
        """Shell commands of the user."""
        ...

    @property
    def compaction(self) -> CompactionPort:
        """Compacting the conversation."""
        ...

    @property
    def retry(self) -> RetryPort:
        """Retrying failed answers."""
        ...

    @property
    def exports(self) -> ExportsPort:
        """Exporting the session."""
        ...

    @property
    def facts(self) -> FactsPort:
        """Read-only queries, name and labels."""
        ...

    @property
    def accounts(self) -> AccountsPort:
        """Logging in and out."""
        ...

    @property
    def extensions(self) -> ExtensionsPort:
        """Extensions of the session."""
        ...

    @property
    def settings(self) -> Settings:
        """The merged settings of the session."""
        ...

    def subscribe(self, listener: Listener, *, kinds: tuple[type, ...] = ()) -> Callable[[], None]:
        """Subscribe to every public event, in order, or to those of ``kinds``.

        Returns an unsubscribe function.
        """
        ...

    def since_session_ms(self) -> int:
        """Milliseconds since this session started."""
        ...

    async def abort(self) -> None:
        """Abort everything that is running, and wait until it has ended."""
        ...

    async def wait_for_idle(self) -> None:
        """Wait until nothing is running."""
        ...

    async def close(self) -> None:
        """Abort everything that is running and close the session."""
        ...
