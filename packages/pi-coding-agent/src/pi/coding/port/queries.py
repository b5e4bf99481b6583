"""Protocols of the parts of a session that are mostly read: state, models, tools, workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from pi.agent.tools.approval import ToolApproval
from pi.agent.tools.effects import CallEffects
from pi.agent.tools.tool import AgentTool, FilePreview, ToolResult, Update
from pi.ai.event_stream import EventStream
from pi.ai.messages import Context, Json, ToolCall
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.plan_limits import PlanLimit
from pi.ai.request import StreamOptions
from pi.coding.blobs.store import BlobStore
from pi.coding.files.local import LocalFiles
from pi.coding.models.registry import ModelRegistry, ResolvedModel
from pi.coding.port.results import Command, CycledModel, ForkPoint, ModelNotes, SessionState
from pi.coding.resources.discovery import Resources
from pi.coding.resources.kinds import Where
from pi.coding.session.display import DisplayTranscript
from pi.coding.session.entries import Custom, KnownEntry, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.session.statistics import ContextUsage, SessionStats
from pi.coding.session.views import TreeNode
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:
    from pi.coding.export.share import Shared
    from pi.coding.port.extensions import Sink
    from pi.coding.shell.jobs import SessionJobs
    from pi.coding.shell.local import ShellSetup


ChooseNext: TypeAlias = Callable[[int], ResolvedModel | None]
"""Called with a number of steps; returns the model that many steps further, or ``None``."""
ExportForm: TypeAlias = Literal["html", "markdown", "text", "jsonl"]
"""Formats of an exported session; ``jsonl`` is a session file with the current branch."""


class InfoPort(Protocol):
    """Read-only queries, and the name and labels of a session."""

    @property
    def cwd(self) -> Path:
        """The working directory; another one than the session's if that no longer exists."""
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
        """Return the usage of the context window; ``None`` without a model."""
        ...

    def plan_limits(self) -> tuple[PlanLimit, ...]:
        """Return the plan limits that the model's provider reported last."""
        ...

    def credential_source(self) -> str:
        """Return the origin of the model's credentials if an extension supplies them, else ""."""
        ...

    def messages(self) -> Sequence[SessionMessage]:
        """Return the messages of the model's context."""
        ...

    def messages_json(self) -> Sequence[Any]:
        """Return the same messages for clients: as they are in the file, with unknown fields."""
        ...

    def transcript(
        self,
        most: int,
        shows: Callable[[Custom], bool] | None = None,
        *,
        end: int | None = None,
    ) -> DisplayTranscript:
        """Return the newest ``most`` messages of the branch for display, compacted ones included.

        ``end`` is the position of an earlier transcript: the messages before it are returned.
        """
        ...

    def entries(self, since: str | None = None) -> list[msgspec.Raw]:
        """Return every entry in its file form, or those after the id ``since``."""
        ...

    def tree(self) -> list[TreeNode]:
        """Return the roots of the tree."""
        ...

    def tree_json(self) -> msgspec.Raw:
        """Return the roots of the tree with their entries, in RPC's format."""
        ...

    def fork_points(self, most: int | None = None) -> list[ForkPoint]:
        """Return the newest ``most`` user messages of all branches, or all, in file order."""
        ...

    @property
    def has_unread_history(self) -> bool:
        """Whether a part of the session file has not been read yet."""
        ...

    async def read_history(self) -> None:
        """Read all of the session in a thread: what lists its entries then does not block."""
        ...

    def last_answer(self) -> str | None:
        """Return the text of the newest answer, or ``None``."""
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


class ModelPort(Protocol):
    """Model and thinking level."""

    @property
    def registry(self) -> ModelRegistry:
        """The known models and their credentials."""
        ...

    @property
    def current(self) -> Model | None:
        """The selected model."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level."""
        ...

    def levels(self) -> tuple[ThinkingLevel, ...]:
        """Return the thinking levels that the model supports."""
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
        """Select a model, or the one that matches a pattern; returns it."""
        ...

    async def select_id(self, provider: str, model_id: str, *, anew: bool = False) -> Model:
        """Select a model; with ``anew`` even if its local server has another owner now."""
        ...

    async def use(
        self,
        model: Model,
        *,
        thinking: ThinkingLevel | None = None,
        source: Literal["set", "cycle", "restore"],
    ) -> None:
        """Use ``model``, with the nearest supported thinking level."""
        ...

    def ask(
        self, model: Model, context: Context, options: StreamOptions, *, extension: str
    ) -> EventStream:
        """Send a request of an extension, outside of the conversation; its usage is recorded."""
        ...

    async def cycle(self, step: int = 1) -> CycledModel | None:
        """Select the next model; ``None`` if there is no other."""
        ...

    def set_cycle(self, choose: ChooseNext) -> Callable[[], None]:
        """Select the next model with ``choose(step)``. Returns a function that removes it."""
        ...

    def add_notes(self, notes: Callable[[], ModelNotes]) -> Callable[[], None]:
        """Add notes about models. Returns a function that removes them."""
        ...

    @property
    def notes(self) -> ModelNotes:
        """All notes about models."""
        ...

    async def set_thinking_level(self, level: str) -> None:
        """Set the thinking level."""
        ...

    async def cycle_thinking(self) -> ThinkingLevel | None:
        """Select the next thinking level; ``None`` if there is no other."""
        ...


class ToolsPort(Protocol):
    """The tools of a session."""

    @property
    def active_names(self) -> tuple[str, ...]:
        """The names of the active tools."""
        ...

    @property
    def selected(self) -> tuple[str, ...]:
        """The tools that the user selected by name, whether or not they exist."""
        ...

    def listed(self) -> tuple[AgentTool, ...]:
        """Return all tools except hidden and unlisted ones of extensions."""
        ...

    def select(self, names: Iterable[str]) -> None:
        """Activate only these tools; unknown names are ignored."""
        ...

    def refresh(self) -> None:
        """Declare changed tools with the next request of the current run."""
        ...

    def has_preview(self, name: str) -> bool:
        """Whether an active tool supports ``preview``."""
        ...

    def preview(self, call: ToolCall) -> FilePreview | None:
        """Return the text that a call adds to a file, from the arguments streamed so far."""
        ...

    def approval(self, call: ToolCall) -> ToolApproval:
        """Return what a call may do, as its tool declares it."""
        ...

    def effects(self, call: ToolCall) -> CallEffects:
        """Return what a call reads, writes and contacts."""
        ...

    async def call(
        self, name: str, arguments: Json, *, caller: str, update: Update | None = None
    ) -> ToolResult:
        """Call a tool for an extension, with the guards that apply to the model."""
        ...


class WorkspacePort(Protocol):
    """The working directory of a session; replaced by a reload or another session."""

    @property
    def cwd(self) -> Path:
        """The working directory."""
        ...

    @property
    def is_trusted(self) -> bool:
        """Whether the project is trusted, or has no files that need trust."""
        ...

    @property
    def where(self) -> Where:
        """The directories that are searched for resources, with their trust."""
        ...

    @property
    def resources(self) -> Resources:
        """Skills, templates and instructions that were found."""
        ...

    @property
    def settings(self) -> Settings:
        """The merged settings."""
        ...

    @property
    def files(self) -> LocalFiles:
        """File access with all file layers, as tools use it."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Content-addressed bytes, shared by all sessions."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi, including those of ``.env`` files."""
        ...

    @property
    def user_environ(self) -> Mapping[str, str]:
        """``environ`` without the ``.env`` file of the project."""
        ...

    def command_environment(self) -> dict[str, str]:
        """Return the variables for commands of the user and of the model."""
        ...

    @property
    def shell_jobs(self) -> SessionJobs:
        """Background jobs."""
        ...

    def shell_setup(self) -> ShellSetup:
        """Return the program, variables and prefix of the bash tool. Raises ``NoShell``."""
        ...


class EntriesPort(Protocol):
    """The log of a session; appends entries without a run."""

    @property
    def log(self) -> SessionLog:
        """The log of the session."""
        ...

    async def append_entry(self, draft: KnownEntry) -> KnownEntry:
        """Append an entry; returns it as stored."""
        ...

    def append_now(self, draft: KnownEntry) -> tuple[str, Any | None]:
        """Append an entry; returns its id, and the event that the caller must emit, if any."""
        ...

    async def append_message(self, message: SessionMessage) -> None:
        """Append a message to the conversation of an idle session."""
        ...


class ExportsPort(Protocol):
    """Exports of the session, without the user's secrets."""

    async def write(self, output: str | None = None) -> Path:
        """Write the session as HTML, or in the format of the suffix of ``output``.

        Returns the path.
        """
        ...

    async def text(self) -> str:
        """Return the branch as text; empty if there are no messages."""
        ...

    async def render(self, form: ExportForm, sink: Sink) -> bytes:
        """Return the session in a format, redacted for a sink."""
        ...

    async def share(self, target: str = "") -> Shared:
        """Upload the session as a web page, to the named target or the default one."""
        ...

    def targets(self) -> Sequence[tuple[str, str]]:
        """Return the share targets of extensions with their descriptions."""
        ...

    def redact(self, value: Any, sink: Sink) -> Any:
        """Return a text or JSON value without secrets, for a sink."""
        ...
