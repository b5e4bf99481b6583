"""The last line of the guard: the files that tool calls actually read and write.

The decision about a call is made before it runs, by the files that its tool declares. Here every
file is checked again when it is used: a tool may use more files than it has declared, and a link
may have been put in place since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pi.batteries.permissions.paths import (
    BaseFolders,
    TouchedPath,
    is_below,
    is_inside,
    is_protected,
)
from pi.batteries.permissions.patterns import FileMatcher, rule_matches
from pi.batteries.permissions.requests import ToolRequest
from pi.batteries.permissions.rules import Mode, Rule, RuleSet
from pi.extension import FileChange, FileRead, FileWrite, FileWritten, ToolFailed


class CallGuard(Protocol):
    """The part of ``Guard`` that decides about calls."""

    running: dict[str, ToolRequest]

    @property
    def mode(self) -> Mode:
        """The current mode."""

    def rules(self) -> RuleSet:
        """All rules that apply now; in the mode ``off`` only deny rules do."""

    def folders(self, session_cwd: str) -> BaseFolders:
        """The folders that patterns are relative to."""

    async def agree(self, call_id: str, path: str, question: str) -> bool:
        """Ask whether a call may use a file that it did not name."""


class ActualFiles:
    """Checks the actual path of every read and write. Implements ``ReadGuard``."""

    def __init__(self, guard: CallGuard) -> None:
        self._guard = guard

    # Reads ----------------------------------------------------------------------------------------

    async def check(self, read: FileRead) -> None:
        """Raise ``ToolFailed`` for a file that the call must not read."""
        path = TouchedPath(written=str(read.path), lexical=str(read.path), real=read.real)
        folders, rules = self._guard.folders(read.cwd), self._guard.rules()
        if rule := _first_match(rules.of("deny", "read"), path, folders):
            raise ToolFailed(f"{read.path} was not read: the deny rule {rule.text} applies.")
        if self._is_named(read.call_id, path, writes=False):
            return
        if rule := _first_match(rules.of("ask", "read"), path, folders):
            reason = f"The ask rule {rule.text} applies."
            if not await self._guard.agree(
                read.call_id, path.real, f"Allow to read {_shown(path)}?\n{reason}"
            ):
                raise ToolFailed(f"{read.path} was not read: it needs consent. {reason}")

    def hidden(self, cwd: str) -> Callable[[str, str], bool] | None:
        """Which files deny rules keep out of the results of searches; ``None`` without rules."""
        rules, folders = self._guard.rules().of("deny", "read"), self._guard.folders(cwd)
        if not rules:
            return None
        matchers = [FileMatcher(rule, folders) for rule in rules]

        def is_hidden(path: str, real: str) -> bool:
            touched = TouchedPath(written=path, lexical=path, real=real)
            return any(matcher.matches(touched) for matcher in matchers)

        return is_hidden

    # Writes ---------------------------------------------------------------------------------------

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer. Raises ``ToolFailed`` for a file that must not be written."""
        await self._check_write(change)
        return await write(change)

    async def _check_write(self, change: FileChange) -> None:
        written, real = str(change.path), change.real or str(change.path.resolve())
        path = TouchedPath(written=written, lexical=written, real=real, writes=True)
        folders, rules = self._guard.folders(change.cwd), self._guard.rules()
        if rule := _first_match(rules.of("deny", "edit", "read"), path, folders):
            raise ToolFailed(f"{written} was not written: the deny rule {rule.text} applies.")
        if self._guard.mode == "off" or self._is_named(change.call_id, path, writes=True):
            return
        reason = self._doubt(change.call_id, path, folders, rules)
        if reason and not await self._guard.agree(
            change.call_id, real, f"Allow a change of {_shown(path)}?\n{reason}"
        ):
            raise ToolFailed(f"{written} was not written: it needs consent. {reason}")

    def _doubt(self, call_id: str, path: TouchedPath, folders: BaseFolders, rules: RuleSet) -> str:
        """Why the user is asked about a write that the call did not announce; empty if not."""
        mode = self._guard.mode
        asks = mode in ("ask", "ask-all")
        if is_protected(path, folders, with_scripts=bool(call_id) and asks):
            return "It decides what runs later."
        if not call_id:  # pi or the user writes, not the model
            return ""
        if rule := _first_match(rules.of("ask", "edit", "read"), path, folders):
            return f"The ask rule {rule.text} applies."
        if _first_match(rules.of("allow", "edit"), path, folders) is not None:
            return ""
        if mode == "read-only":
            raise ToolFailed(f"{path.written} was not written: the permission mode is read-only.")
        if not is_inside(path, folders):
            return "It is outside of the project, and the call did not name it."
        call = self._guard.running.get(call_id)
        # Calls that only read run without a question, so the user has agreed to no change.
        only_reads = call is None or call.approval.tier == "read"
        return "The call did not name it." if only_reads and asks else ""

    def _is_named(self, call_id: str, path: TouchedPath, *, writes: bool) -> bool:
        """Whether the call has declared the file, so that it is already decided about."""
        call = self._guard.running.get(call_id)
        if call is None:
            return False
        for file in call.effects.files:
            if file.real == path.real and (file.writes or not writes):
                return True
            if file.below and not writes and is_below(path.real, file.real):
                return True
        return False


def _first_match(rules: tuple[Rule, ...], path: TouchedPath, folders: BaseFolders) -> Rule | None:
    return next((rule for rule in rules if rule_matches(rule, path, folders)), None)


def _shown(path: TouchedPath) -> str:
    return path.lexical if path.lexical == path.real else f"{path.lexical} ({path.real})"
