"""The status region: updates the footer, the border and the window after session events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UnsetType

from pi.agent.events import AgentEnd, AgentSettled, AgentStart, MessageEnd, MessageUpdate, TurnEnd
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.base.files import open_regular
from pi.base.folder_changes import watch_folder
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.compaction.events import CompactionEnd
from pi.coding.extension_host.events.session import SessionInfoChanged, ThinkingLevelChanged
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.footer import (
    BETWEEN_MODES,
    Footer,
    FooterFacts,
    short_folder,
)
from pi.modes.interactive.theme import Theme
from pi.tui.desktop import notification, progress, title
from pi.tui.terminal import Capabilities

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


# Facts of the footer ------------------------------------------------------------------------------


def footer_facts(port: SessionPort, *, home: Path, branch: str) -> FooterFacts:
    """Return the facts of a session."""
    stats, usage, model = port.info.stats(), port.info.context_usage(), port.models.current
    state = port.info.state()
    name, facts = state.session_name, port.extensions.facts
    return FooterFacts(
        cwd=short_folder(port.info.cwd, home),
        branch=branch,
        session_name="" if isinstance(name, UnsetType) else name,
        input=stats.tokens.input,
        output=stats.tokens.output,
        cache_read=stats.tokens.cache_read,
        cache_write=stats.tokens.cache_write,
        hit_percent=_hit_percent(port),
        cost=stats.cost,
        context_percent=usage.percent if usage else 0.0,
        context_window=model.context_window if model else 0,
        is_automatic=state.auto_compaction_enabled,
        provider=model.provider if model else "",
        model=model.id if model else "",
        level=port.models.thinking_level if model and model.reasoning else "",
        note="no model: /login" if model is None else "",
        permissions=_mode(facts),
        approval=facts.get("approval", ""),
    )


def _mode(facts: Mapping[str, str]) -> str:
    """Return ``plan``, ``ask``, or ``plan · ask``: plan mode does not change the other one."""
    modes = ("plan" if "plan" in facts else "", facts.get("permissions", ""))
    return BETWEEN_MODES.join(filter(None, modes))


def _hit_percent(port: SessionPort) -> float | None:
    """Return the share of the last request's input that came from a cache; ``None`` if 0."""
    for message in reversed(port.info.messages()):
        if isinstance(message, AssistantMessage) and message.usage.total_tokens:
            usage = message.usage
            input_tokens = usage.input + usage.cache_read + usage.cache_write
            return (
                usage.cache_read / input_tokens * 100 if usage.cache_read and input_tokens else None
            )
    return None


# Git branch ---------------------------------------------------------------------------------------
#
# Read from git's own files. The program ``git`` is never started: a repository's configuration can
# name programs that git runs, and the repository may not be trusted.


DETACHED = "detached"
LARGEST = 65_536
"""Maximum bytes read of one file. HEAD has one line; a table has it in its first block."""
LARGEST_NUMBER = 2**64
MAX_TABLES = 32
"""Maximum number of reference tables; git merges them long before."""

_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""The target of HEAD in repositories with reference tables."""
_SYMBOLIC = 3
"""Record type of a symbolic reference."""


async def branch_of(cwd: Path) -> str | None:
    """Return the branch, ``detached`` if there is none, or empty outside of a repository.

    ``None`` if it is unknown now: git's files are being replaced, or no file can be opened.
    """
    try:
        # In a thread: a network drive must not block the screen.
        return await asyncio.to_thread(_branch, cwd)
    except (OSError, ValueError):
        return None


def folder_of_head(cwd: Path) -> Path | None:
    """Return the folder in which git replaces the file that names the branch, if there is one."""
    with suppress(OSError, ValueError):
        git_dir = _git_dir(cwd)
        if git_dir is not None:
            tables = git_dir / "reftable"
            return tables if tables.is_dir() else git_dir
    return None


def _branch(cwd: Path) -> str:
    git_dir = _git_dir(cwd)
    if git_dir is None:
        return ""
    head = _start_of(git_dir / "HEAD").decode("utf-8")
    if head.strip() == f"{_BRANCHES}{_REFTABLE}":
        head = _head_of_tables(git_dir / "reftable")
    return head.removeprefix(_BRANCHES).strip() if head.startswith(_BRANCHES) else DETACHED


def _git_dir(cwd: Path) -> Path | None:
    """Return the folder of HEAD; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        git_dir = folder / ".git"
        if git_dir.is_file():  # a worktree or a submodule: a file that names the real folder
            git_dir = folder / _start_of(git_dir).decode("utf-8").removeprefix("gitdir:").strip()
        if git_dir.is_dir():
            return git_dir
    return None


def _start_of(path: Path) -> bytes:
    """Read the first bytes of a regular file.

    Raises ``OSError`` for a pipe or a device, which could block.
    """
    with open_regular(path, buffering=0) as file:
        return file.read(LARGEST)


# Tables of references -----------------------------------------------------------------------------


def _head_of_tables(folder: Path) -> str:
    """Return HEAD in the format of git's files; empty if no table contains it.

    The newest table with a record of HEAD is used. Raises ``ValueError`` if a table is damaged.
    """
    names = _start_of(folder / "tables.list").decode("utf-8").split()
    for name in list(reversed(names))[:MAX_TABLES]:
        if "/" in name or "\\" in name:
            raise ValueError(f"{name} is not the name of a table")
        try:
            for kind, target in _head_records(_start_of(folder / name)):
                return f"ref: {target}" if kind == _SYMBOLIC else ""
        except IndexError as error:
            raise ValueError(f"{name} ends in the middle of a record") from error
    return ""


def _head_records(table: bytes) -> Iterator[tuple[int, str]]:
    """Return the type and the target of HEAD in one table, if it has it.

    A header, then blocks of records sorted by name. Names share a prefix with the record before.
    """
    if table[:4] != b"REFT":
        raise ValueError("not a table of references")
    header, hash_size = (24, 20) if table[4] == 1 else (28, 32 if table[24:28] == b"s256" else 20)
    if table[header : header + 1] != b"r":
        return  # a table without references: only their history
    block_end = int.from_bytes(table[header + 1 : header + 4])
    restarts = int.from_bytes(table[block_end - 2 : block_end])
    end = min(block_end, len(table)) - 2 - 3 * restarts
    name, offset = b"", header + 4
    while offset < end and name < b"HEAD":
        shared, offset = _number(table, offset)
        packed, offset = _number(table, offset)
        length, kind = packed >> 3, packed & 7
        name, offset = name[:shared] + table[offset : offset + length], offset + length
        _, offset = _number(table, offset)  # the update index
        target = b""
        if kind == _SYMBOLIC:
            size, offset = _number(table, offset)
            target, offset = table[offset : offset + size], offset + size
        else:
            offset += kind * hash_size  # none for a deletion, one for a commit, two for a tag
        if name == b"HEAD":
            yield kind, target.decode("utf-8")


def _number(data: bytes, offset: int) -> tuple[int, int]:
    """Decode a variable-length number; returns it and its end."""
    byte = data[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = data[offset]
        value = (value + 1) << 7 | byte & 0x7F
        if value > LARGEST_NUMBER:
            raise ValueError("a number of more than 64 bits")
    return value, offset + 1


# Terminal window ----------------------------------------------------------------------------------


LONG_RUN = 20.0
"""Seconds after which the user has probably switched to another window."""


class WindowTitle:
    """Writes sequences for the title, the progress and notifications of the terminal window.

    ``watch`` starts focus reporting, ``is_seen`` returns whether the window has the focus.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        capabilities: Capabilities,
        *,
        watch: Callable[[], None] = lambda: None,
        is_seen: Callable[[], bool] = lambda: False,
    ) -> None:
        self._write = write
        self._capabilities = capabilities
        self._watch = watch
        self._is_seen = is_seen
        self._usual = ""
        self._other = ""
        self._title = ""
        self._progress = False

    def set_title(self, folder: str, session_name: str = "") -> None:
        """Set the title from the session and the folder."""
        name = f"{one_line(session_name)} - " if session_name else ""
        self._usual = f"π - {name}{one_line(folder)}"
        self._show_title()

    def override(self, name: str) -> None:
        """Set the title; empty restores the default."""
        self._other = one_line(name)
        self._show_title()

    def set_progress(self, *, is_busy: bool) -> None:
        """Show progress in the task bar."""
        if is_busy != self._progress:
            self._progress = is_busy
            self._write(progress("indeterminate" if is_busy else "none"))

    def watch(self) -> None:
        """A run started: report focus changes from now on."""
        if self._capabilities.notifications:
            self._watch()

    def notify(self, text: str) -> None:
        """Notify the user if the window has no focus; falls back to the bell."""
        if self._capabilities.notifications and not self._is_seen():
            self._write(notification(text, self._capabilities.brand))

    def farewell(self) -> str:
        """Sequences that restore the title and clear the progress."""
        had_progress, self._progress = self._progress, False
        return (progress("none") if had_progress else "") + (
            title(self._title) if self._title else ""
        )

    def _show_title(self) -> None:
        new_title = self._other or self._usual
        if new_title != self._title:
            self._title = new_title
            self._write(title(new_title))


# Status region ------------------------------------------------------------------------------------

_REFRESHING = (
    MessageEnd,
    TurnEnd,
    AgentSettled,
    CompactionEnd,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
"""Events that change the numbers of the footer."""


class StatusRegion:
    """Owns the footer, the activity and the window title.

    ``show_label`` shows the activity.
    """

    def __init__(
        self,
        theme: Theme,
        activity: Activity,
        footer: Footer,
        window: WindowTitle,
        *,
        clock: Clock,
        tasks: TaskScope,
        home: Path,
        show_label: Callable[[str], None],
        request_render: Callable[[], None],
    ) -> None:
        self._theme = theme
        self._activity = activity
        self._footer = footer
        self._window = window
        self._clock = clock
        self._tasks = tasks
        self._home = home
        self._show_label = show_label
        self._request_render = request_render
        self._port: SessionPort | None = None
        self._branch = ""
        self._watched: tuple[Path, Callable[[], None] | None] | None = None
        """The folder in which git replaces HEAD, and what ends its notifications."""
        self._is_ticking = False
        activity.on_work = self._show_activity

    def open(self, port: SessionPort) -> None:
        """Show a session that was opened, or that replaced another."""
        self._port = port
        self.refresh()
        self._tasks.start(self.look_for_branch(), name="looking for the branch")

    def handle_event(self, event: object) -> None:
        """Handle a session event."""
        ran = self._activity.run_seconds
        self._activity.handle_event(event)
        if type(event) is MessageUpdate:
            return  # one per token: its changes are shown with the next tick
        if isinstance(event, AgentStart):
            self._window.watch()
        if isinstance(event, AgentEnd) and not event.will_retry and ran >= LONG_RUN:
            self._window.notify(f"pi is done in {self._cwd.name}")
        if isinstance(event, _REFRESHING):
            self.refresh()
        self._show_activity()

    def refresh(self) -> None:
        """Update the footer."""
        if self._port is not None:
            facts = footer_facts(self._port, home=self._home, branch=self._branch)
            self._footer.show(facts)
            self._window.set_title(self._cwd.name, facts.session_name)
            self._request_render()

    async def look_for_branch(self) -> None:
        """Check whether the branch changed. A remote session has no folder on this disk."""
        is_here = self._port is not None and self._port.info.runs_here
        branch = await branch_of(self._cwd) if is_here else ""
        self._follow(await asyncio.to_thread(folder_of_head, self._cwd) if is_here else None)
        if branch is not None and branch != self._branch:
            self._branch = branch
            self.refresh()

    @property
    def is_following(self) -> bool:
        """Whether the system notifies about changes of the branch; true if there is none."""
        return self._watched is None or self._watched[1] is not None

    def _follow(self, folder: Path | None) -> None:
        if self._watched is not None and self._watched[0] == folder:
            return
        if self._watched is not None and self._watched[1] is not None:
            self._watched[1]()
        self._watched = None if folder is None else (folder, watch_folder(folder, self._notice))

    def _notice(self) -> None:
        self._tasks.start(self.look_for_branch(), name="looking for the branch")

    def _show_activity(self) -> None:
        """Update the border and the task bar; repeats while work is in progress."""
        label = self._activity.label()
        spinner, _, text = label.partition(" ")
        accent, muted = self._theme.paint("accent"), self._theme.paint("muted")
        painted = f"{accent(spinner)} {muted(text)}" if spinner else muted(text)
        self._show_label(painted if label else "")
        if self._wants_progress:
            self._window.set_progress(is_busy=self._activity.is_busy)
        if self._activity.is_busy and not self._is_ticking:
            self._is_ticking = True
            self._tasks.start(self._tick(), name="the spinner")

    async def _tick(self) -> None:
        while self._activity.is_busy:
            await self._clock.sleep(self._activity.indicator.interval)
            self._show_activity()
        self._is_ticking = False

    @property
    def _wants_progress(self) -> bool:
        port = self._port
        return port is not None and port.settings.values.terminal.show_terminal_progress

    @property
    def _cwd(self) -> Path:
        return self._port.info.cwd if self._port is not None else Path()
