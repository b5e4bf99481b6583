"""Keeps files with credentials from being read without consent: ``files.sensitive``.

The tools are checked by the actual path of what they read, in the same place as the rules; a
command line before it runs, by the files that it names.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.batteries.permissions.commands import parsed
from pi.batteries.permissions.git_contents import work_tree
from pi.batteries.permissions.paths import BaseFolders, folders_of, is_below
from pi.batteries.permissions.questions import (
    CANCEL,
    DENY,
    ONCE,
    SESSION,
    STOPPED,
    asking_agent,
    visible,
)
from pi.batteries.permissions.sensitive import (
    has_sensitive_name,
    is_sensitive,
    variable_names,
)
from pi.batteries.permissions.sensitive_commands import (
    CommandReads,
    credential_reads,
    mentioned_files,
)
from pi.batteries.permissions.sensitive_history import CredentialHistory
from pi.extension import (
    Block,
    CallEffects,
    ExtensionAPI,
    ExtensionContext,
    FileChange,
    FileRead,
    FileWrite,
    FileWritten,
    Option,
    StopRun,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolResultEvent,
)

Policy: TypeAlias = Literal["ask", "refuse", "allow"]
POLICIES: tuple[Policy, ...] = ("ask", "refuse", "allow")
SETTING = "files.sensitive"
MAX_READ = 65_536
MAX_SHOWN = 5
_FORGES_FOLDER = re.compile(r"(?<![$\w{])PWD\b")
"""A shell reports its folder by this variable."""
_LISTS = frozenset({"ls", "find"})
"""Tools that show names only."""


class SensitiveFiles:
    """Decides about reads of files with credentials. Implements ``ReadGuard``."""

    def __init__(
        self,
        pi: ExtensionAPI,
        *,
        approves: Callable[[], bool],
        folders: Callable[[str], BaseFolders],
    ) -> None:
        self._pi = pi
        self._approves = approves
        """Whether approvals are on."""
        self._folders = folders
        self._allowed: set[str] = set()
        """Real paths that the user has allowed for this session."""
        self._agreed: set[tuple[str, str]] = set()
        """Calls and files that the user has allowed once."""
        self._running: dict[str, str] = {}
        """Names of the tools that are running, by call."""
        self._agents: dict[str, str] = {}
        """The sub-agents that make the calls that are running."""
        self._commands: dict[str, str] = {}
        """The command lines that are running, by call."""
        self._is_elsewhere = False
        """Whether the folder of the kept shell is not known any more."""
        self._history = CredentialHistory(pi)
        self._dialog = asyncio.Lock()

    @property
    def policy(self) -> Policy:
        """What happens with such files; an invalid setting means the strictest."""
        get = self._pi.settings.get
        if (written := get(SETTING)) != "auto":
            return next((policy for policy in POLICIES if policy == written), "refuse")
        is_guarded = self._approves() or get("secrets.enabled") is True
        return "ask" if is_guarded or get("batteries") == "recommended" else "allow"

    # Calls ----------------------------------------------------------------------------------------

    async def call(self, event: ToolCallEvent, ctx: ExtensionContext) -> Block | None:
        """Ask about the files that a call names, or refuse it with a ``Block``."""
        if self.policy == "allow":
            return None
        self._running[event.tool_call_id] = event.tool_name
        self._agents[event.tool_call_id] = event.agent
        paths, reads = await asyncio.to_thread(self._reads, event, ctx)
        for folder, history_paths in reads.histories:
            paths += await self._removed_files(folder, history_paths)
        return await self._decide(event.tool_call_id, paths)

    def ended(self, event: ToolResultEvent, ctx: ExtensionContext) -> None:
        """Forget what was allowed for a call that has ended."""
        self._running.pop(event.tool_call_id, None)
        self._commands.pop(event.tool_call_id, None)
        self._agents.pop(event.tool_call_id, None)
        self._agreed = {pair for pair in self._agreed if pair[0] != event.tool_call_id}

    def _reads(self, event: ToolCallEvent, ctx: ExtensionContext) -> tuple[list[str], CommandReads]:
        """The files with credentials that a call names, and what its command line may read."""
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=event.input)
        effects = ctx.effects(call)
        base_folders = self._folders(effects.cwd)
        command = event.input.get("command")
        if isinstance(command, str) and event.approval.tier == "exec":
            folder = event.input.get("cwd")
            if isinstance(folder, str):
                cwd, is_elsewhere = str(Path(base_folders.cwd, folder)), False
            else:
                cwd = base_folders.shell_folder or base_folders.cwd
                is_elsewhere = base_folders.keeps_folder and self._may_have_moved(
                    call.id, base_folders
                )
            self._commands[call.id] = command
            self._is_elsewhere |= base_folders.keeps_folder and bool(_FORGES_FOLDER.search(command))
            variables = event.input.get("env")
            environ = variables if isinstance(variables, dict) else {}
            reads = credential_reads(
                command,
                cwd,
                base_folders,
                is_elsewhere=is_elsewhere,
                environ={str(name): str(value) for name, value in environ.items()},
            )
            return [*reads.paths, *self._named(event.tool_name, effects)], reads
        named = [*self._named(event.tool_name, effects)]
        if event.approval.tier == "exec" and not effects.is_declared:
            named += mentioned_files([*_texts(event.input)], base_folders.cwd, base_folders)
        return named, CommandReads()

    def _may_have_moved(self, call_id: str, base_folders: BaseFolders) -> bool:
        """Whether a call that has not ended may move the kept shell to another folder."""
        others = (command for id, command in self._commands.items() if id != call_id)
        return self._is_elsewhere or any(
            folders_of(parsed(command), base_folders.cwd) != [base_folders.cwd]
            for command in others
        )

    async def _removed_files(self, folder: str, history_paths: tuple[str, ...] | None) -> list[str]:
        """The files with credentials that git may show of the history of a repository."""
        root = work_tree(Path(folder))
        paths = await self._history.paths(folder, str(root or folder))
        if history_paths is None or paths == (f"{root or folder}/.git",):
            return [*paths]
        return [
            path
            for path in paths
            if any(is_below(path, name) or is_below(name, path) for name in history_paths)
        ]

    def _named(self, tool: str, effects: CallEffects) -> Iterator[str]:
        if tool in _LISTS:
            return
        for file in effects.files:
            # A search in a folder leaves such files out; one in the file itself is a read.
            is_read = not file.writes and (not file.below or Path(file.real).is_file())
            names = (file.path, file.real, *filter(None, (file.member,)))
            if is_read and (is_sensitive(*names) or has_sensitive_name(file.real)):
                yield file.real

    # Files ----------------------------------------------------------------------------------------

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer: writes are decided about by the rules."""
        return await write(change)

    async def check(self, read: FileRead) -> None:
        """Raise ``ToolFailed`` for a file with credentials that the user has not allowed."""
        is_listed = self._running.get(read.call_id) in _LISTS
        if is_listed or self.policy == "allow":
            return
        if not is_sensitive(str(read.path), read.real) and not has_sensitive_name(read.real):
            return
        try:
            refusal = await self._decide(read.call_id, [read.real])
        except StopRun:  # a running tool cannot raise it
            self._pi.context.abort(outermost=True)
            raise ToolFailed(STOPPED) from None
        if refusal:
            raise ToolFailed(refusal.reason)

    def hidden(self, cwd: str) -> Callable[[str, str], bool] | None:
        """Which files searches leave out: their lines would be shown. Lists show the names."""
        only_lists = bool(self._running) and _LISTS.issuperset(self._running.values())
        if self.policy == "allow" or only_lists:
            return None
        return lambda path, real: is_sensitive(path, real) and real not in self._allowed

    # Decisions ------------------------------------------------------------------------------------

    async def _decide(self, call_id: str, paths: list[str]) -> Block | None:
        async with self._dialog:
            missing = [path for path in dict.fromkeys(paths) if not self._is_allowed(call_id, path)]
            if not missing:
                return None
            ui = self._pi.context.ui
            if self.policy == "ask" and ui.has_ui:
                asking = asking_agent(self._agents.get(call_id, ""))
                lines = (f"Let the model read {_listed(missing)}?", asking, _KIND)
                text = visible("\n".join(filter(None, lines)))
                answer = await ui.select(
                    text, _OPTIONS, initial=DENY, call_id=call_id or None, cancel=CANCEL
                )
                if answer is None:
                    if self._pi.context.depth:
                        self._pi.context.abort(outermost=True)
                    raise StopRun(STOPPED)
                if answer == SESSION:
                    self._allowed.update(missing)
                if answer != DENY:
                    self._agreed.update((call_id, path) for path in missing)
                    return None
        return Block(reason=await asyncio.to_thread(_refusal, missing, self.policy))

    def _is_allowed(self, call_id: str, path: str) -> bool:
        return path in self._allowed or (call_id, path) in self._agreed


_OPTIONS = (Option(label=ONCE, key="y"), Option(label=SESSION), Option(label=DENY, key="n"))
_KIND = "The name is that of a file with credentials. What it contains would be sent."


def _refusal(paths: list[str], policy: Policy) -> str:
    names = variable_names(map(_beginning, paths))
    variables = f" It sets these variables: {', '.join(names)}." if names else ""
    why = "needs the consent of the user" if policy == "ask" else "is refused (files.sensitive)"
    return (
        f"{_listed(paths)} was not read: it looks like a file with credentials, and reading it"
        f" {why}.{variables} Work with the names; do not try to get the values in another way."
    )


def _beginning(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_READ).decode("utf-8", "replace")
    except OSError:
        return ""


def _listed(paths: Iterable[str]) -> str:
    listed = [path if _exists(path) else f"{path} (in the history of git)" for path in paths]
    more = f" and {len(listed) - MAX_SHOWN} more" if len(listed) > MAX_SHOWN else ""
    return ", ".join(listed[:MAX_SHOWN]) + more


def _exists(path: str) -> bool:
    archive, colon, _ = path.rpartition(":")  # a member of an archive stands behind a colon
    return (
        not path.startswith("/") or Path(path).exists() or (bool(colon) and Path(archive).exists())
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member)
