"""What modes talk to: a session here, or a replica of one that runs elsewhere.

Commands go in, events come out.
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
"""Called once a prompt is known to be good, before the run begins."""

Fill: TypeAlias = Callable[[MissingValues], Awaitable[Mapping[str, str] | None]]
"""Asks for the values that a template lacks; ``None`` if nobody gives them."""


class NestedSession(Protocol):
    """As much of a session as a handle needs."""

    async def prompt(self, text: str) -> AssistantMessage | None:
        """Say something; gives the last answer."""
        ...

    async def steer(self, text: str) -> None:
        """Have it delivered after the tools of the current turn."""
        ...

    async def abort(self) -> None:
        """End what is under way."""
        ...

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event."""
        ...

    async def close(self) -> None:
        """Let everything go."""
        ...


# The parts of a session that modes talk to, each for one kind of question or command.


class PromptPort(Protocol):
    """Saying something."""

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
        """Say something and wait until the agent is idle again."""
        ...

    async def steer(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Have it delivered after the tools of the current turn."""
        ...

    async def follow_up(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Have it delivered when the agent would stop."""
        ...

    async def clear_queue(self) -> Queues:
        """Take back what was queued."""
        ...

    def set_queue_modes(self, *, steering: str | None = None, follow_up: str | None = None) -> None:
        """Say for this session how queued messages are delivered."""
        ...


class ModelPort(Protocol):
    """Who answers, and how much it thinks."""

    @property
    def current(self) -> Model | None:
        """The model that answers."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        ...

    def available(self) -> tuple[Model, ...]:
        """Every model that could answer."""
        ...

    def offered(self) -> tuple[Model, ...]:
        """Every model that the user can choose, also of servers that were found on this machine."""
        ...

    def found(self) -> tuple[Standing, ...]:
        """The servers that were found on this machine and may not answer, with their owners."""
        ...

    def levels(self) -> tuple[ThinkingLevel, ...]:
        """How much the model can be told to think."""
        ...

    def known(self) -> tuple[Model, ...]:
        """Every model there is, also those that cannot answer for want of credentials."""
        ...

    async def discover(self) -> None:
        """Ask the model servers of this machine, whose models can then be chosen."""
        ...

    async def find_somebody(self) -> None:
        """Where nobody answers, have somebody answer who needs no key, if there is one."""
        ...

    @property
    def scope(self) -> tuple[ResolvedModel, ...]:
        """The models to cycle through; empty means all."""
        ...

    def limit_to(self, patterns: Sequence[str]) -> None:
        """Cycle through the models that these mean; none means all."""
        ...

    async def pick(self, wanted: Model | str, *, anew: bool = False) -> Model:
        """Have the model answer that a pattern means."""
        ...

    async def choose(self, provider: str, model_id: str, *, anew: bool = False) -> Model:
        """Have that model answer; ``anew`` also if the owner of its server has changed."""
        ...

    async def cycle(self, step: int = 1) -> CycledModel | None:
        """The next model."""
        ...

    async def think(self, level: str) -> None:
        """Have the model think that much."""
        ...

    async def cycle_thinking(self) -> ThinkingLevel | None:
        """The next level."""
        ...


class SessionsPort(Protocol):
    """Another session in the place of this one."""

    async def new(self, parent_session: str | None = None) -> Replaced:
        """Begin a new session."""
        ...

    async def switch(self, path: Path) -> Replaced:
        """Go on with the session of a file."""
        ...

    async def fork(self, entry_id: str) -> Forked:
        """Go on in a copy of what led to something the person said."""
        ...

    async def fork_file(self, path: Path) -> Replaced:
        """Go on in a copy of the session of a file, which somebody else may have open."""
        ...

    async def clone(self) -> Replaced:
        """Go on in a copy of the branch."""
        ...

    async def take_in(self, path: Path) -> Replaced:
        """Copy a session file that lies elsewhere, and go on with the copy."""
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
        """Go to an entry."""
        ...

    def abort(self) -> None:
        """Stop the summary that is being written."""
        ...


class ShellPort(Protocol):
    """Commands of the person."""

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
        """End every command that runs."""
        ...


class CompactionPort(Protocol):
    """Making the conversation shorter."""

    @property
    def busy(self) -> bool:
        """Whether a compaction is under way."""
        ...

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Compact now."""
        ...

    def abort(self) -> None:
        """End the compaction that is under way."""
        ...

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether it happens by itself."""
        ...

    def dropped(self) -> Sequence[Entry]:
        """What the model is no longer shown."""
        ...


class RetryPort(Protocol):
    """Asking again after a failed answer."""

    async def abort(self) -> bool:
        """Give up the retry that is being waited for; False if it is not, or no longer."""
        ...

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        ...


class ExportsPort(Protocol):
    """The session for others, without the person's secrets."""

    async def write(self, output: str | None = None) -> Path:
        """Write the session as a page, or as what the name of ``output`` says."""
        ...

    async def text(self) -> str:
        """The branch as text; empty if nothing was said."""
        ...

    async def share(self) -> Shared:
        """Pass the session on as a page."""
        ...


class FactsPort(Protocol):
    """Questions about a session, and its name and labels."""

    @property
    def header(self) -> SessionHeader:
        """The first line of the session."""
        ...

    @property
    def cwd(self) -> Path:
        """Where commands run: the session's folder, or another one if that is gone."""
        ...

    @property
    def file(self) -> Path | None:
        """Where it is kept."""
        ...

    @property
    def problem(self) -> str | None:
        """Why its file lacks the latest entries, if it does."""
        ...

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        ...

    @property
    def runs_here(self) -> bool:
        """Whether it is not only shown here."""
        ...

    def state(self) -> SessionState:
        """What the session is at this moment."""
        ...

    def stats(self) -> SessionStats:
        """The session in numbers."""
        ...

    def context_usage(self) -> ContextUsage | None:
        """How full the window is."""
        ...

    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown."""
        ...

    def transcript(
        self,
        most: int,
        shows: Callable[[Custom], bool] | None = None,
        *,
        end: int | None = None,
    ) -> DisplayTranscript:
        """What a screen shows of the branch: its newest ``most`` messages, compacted or not.

        ``end`` is that of a transcript read before, whose earlier messages are wanted.
        """
        ...

    def entries(self, since: str | None = None) -> list[msgspec.Raw]:
        """Every entry as the file has it, or those after ``since``."""
        ...

    def tree(self) -> list[TreeNode]:
        """The roots of the tree."""
        ...

    def tree_json(self) -> msgspec.Raw:
        """The roots of the tree with their entries, as RPC tells them."""
        ...

    def fork_points(self) -> list[ForkPoint]:
        """What the user said on all branches, in the order of the file."""
        ...

    def last_answer(self) -> str | None:
        """The words of the newest answer."""
        ...

    def commands(self) -> list[Command]:
        """What can be typed behind a slash."""
        ...

    async def rename(self, name: str) -> None:
        """Call the session something else."""
        ...

    async def label(self, id: str, label: str | None) -> None:
        """Put a label on an entry, or take it off."""
        ...


class AccountsPort(Protocol):
    """Logging in and out."""

    async def all(self) -> tuple[Account, ...]:
        """Every provider, and whether there are credentials for it."""
        ...

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Sign the person in; stored when this returns."""
        ...

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        """Ask for an API key and store it."""
        ...

    async def log_out(self, provider: str) -> bool:
        """Forget what is stored; False if there was nothing."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """The person's keys and tokens, for taking them out of what is written down."""
        ...


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
