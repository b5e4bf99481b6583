"""Isolated agents: opens a working copy for each, and merges or keeps its changes.

Changes that are not merged stay on a branch or in the folder of the copy; the result names it.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from pi.batteries.subagents.nodes import AgentNode
from pi.coding.files.copy_steps import WorkingCopyFailed
from pi.coding.files.working_copies import (
    ClosedCopy,
    Patch,
    WorkingCopy,
    make_working_copy,
    sweep_working_copies,
)
from pi.extension import ExtensionAPI, PiError, Record, StreamOptions, ToolFailed, one_line, replace

FOLDER = "working-copies"
PLAN_MODE = "plan-mode"
"""The service of the battery ``plan``."""
FILE_HISTORY = "file-history"
"""The service of the battery ``rewind``."""
MESSAGE_TOKENS = 300
MAX_SHOWN_FILES = 20
MAX_DIFF = 30_000
"""Characters of a diff that are sent for a commit message."""
ASK_FOR_MESSAGE = """\
Write the commit message of this change: a subject of at most 70 characters in the imperative,
and, if it needs one, a blank line and a body that says why. Answer with the message only.

Task: {task}

{diff}"""


def is_planning(pi: ExtensionAPI) -> bool:
    """Whether plan mode is on: nothing may change then."""
    mode: Any = pi.service(PLAN_MODE)
    return mode is not None and mode.is_on


class MergeReport(Record):
    """Whether the changes of an isolated agent were merged, and where unmerged ones are."""

    note: str = ""
    is_merged: bool = False
    branch: str = ""
    path: str = ""


class IsolatedCopies:
    """The working copies of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._lock = asyncio.Lock()
        """Git commands that change the repository or the project run one after the other."""

    @property
    def _root(self) -> Path:
        return self._pi.context.agent_dir / FOLDER

    async def open(self, node: AgentNode, source: Path) -> WorkingCopy:
        """Make a copy of ``source``. Raises ``ToolFailed`` if the project is not trusted."""
        if not self._pi.context.is_project_trusted():
            raise ToolFailed(
                "An isolated agent needs a trusted project: git runs programs that its"
                " configuration names. Trust it with /trust, or leave out isolated."
            )
        backend = self._pi.settings.get("isolation.backend")
        async with self._lock:
            return await make_working_copy(
                source,
                root=self._root,
                name=node.id,
                environ=dict(self._pi.context.environ),
                backend=backend,
            )

    async def finish(self, copy: WorkingCopy, node: AgentNode, *, merge: bool) -> MergeReport:
        """Merge the changes if the agent has succeeded; keep them otherwise."""
        try:
            return await self._finish(copy, node, merge=merge)
        except Exception as error:  # every error: the work must not be lost
            self._pi.log.exception("the working copy of %s could not be closed", node.id)
            reason = one_line(str(error)) or type(error).__name__
            return MergeReport(
                note=f"Its work was kept in {copy.path}: {reason}",
                path=str(copy.path),
                branch=copy.branch,
            )

    async def _finish(self, copy: WorkingCopy, node: AgentNode, *, merge: bool) -> MergeReport:
        patch = await copy.patch()
        if not patch.files:
            return await self._close(copy, "It changed no files.", discard=True)
        if not merge:
            return await self._close(copy, "Its changes were not merged.")
        get = self._pi.settings.get
        if is_planning(self._pi):
            await copy.commit(await self._message(node, patch))
            return await self._close(copy, "Its changes were not merged: plan mode is on.")
        if get("task.isolation.apply") is not True:
            await copy.commit(await self._message(node, patch))
            return await self._close(copy, "Its changes were not merged (task.isolation.apply).")
        if get("task.isolation.merge") == "branch":
            await copy.commit(await self._message(node, patch))
            return await self._merge(copy, patch, by_commit=True)
        return await self._merge(copy, patch, by_commit=False, node=node)

    async def _merge(
        self, copy: WorkingCopy, patch: Patch, *, by_commit: bool, node: AgentNode | None = None
    ) -> MergeReport:
        try:
            async with self._lock:
                if by_commit:
                    async with self._recorded(f"merge of {copy.branch}"):
                        await copy.pick()
                else:
                    # Through the file layers: guards can refuse it, rewind can undo it.
                    await copy.apply(patch, files=self._pi.context.files)
        except PiError as error:
            is_conflict = isinstance(error, WorkingCopyFailed)
            note = "Merge conflict" if is_conflict else "Its changes were not merged"
            if node is not None:
                await copy.commit(await self._message(node, patch))
            return await self._close(copy, f"{note}: {error.message}")
        names = ", ".join(patch.files[:MAX_SHOWN_FILES])
        more = len(patch.files) - MAX_SHOWN_FILES
        files = f"{names} and {more} more" if more > 0 else names
        how = "as a commit" if by_commit else "into your files"
        note = f"Its changes were merged {how}: {files}."
        return replace(await self._close(copy, note, discard=True), is_merged=True)

    def _recorded(self, what: str) -> AbstractAsyncContextManager[None]:
        """Let rewind capture changes by git, which do not pass through the file layers."""
        history: Any = self._pi.service(FILE_HISTORY)
        return nullcontext() if history is None else history.capturing(what)

    async def _close(self, copy: WorkingCopy, note: str, *, discard: bool = False) -> MergeReport:
        async with self._lock:
            closed = await copy.close(discard=discard)
        return _report(closed, note)

    async def _message(self, node: AgentNode, patch: Patch) -> str:
        """The commit message: the title of the task, or one that a model writes."""
        plain = f"{node.title}\n\nBy the agent {node.agent} ({node.id})."
        if self._pi.settings.get("task.isolation.commits") != "ai" or not patch.is_complete:
            return plain
        diff = patch.text.decode("utf-8", "replace")[:MAX_DIFF]
        question = ASK_FOR_MESSAGE.format(task=node.title, diff=diff)
        model: Any = self._pi.models.resolve("@commit")
        answer = await self._pi.models.complete(
            question, model=model, options=StreamOptions(max_tokens=MESSAGE_TOKENS)
        )
        return answer.text.strip() if answer.stop_reason == "stop" and answer.text else plain

    async def sweep(self) -> list[ClosedCopy]:
        """Close the copies of killed processes; returns those with unmerged work."""
        if not self._root.is_dir():
            return []
        async with self._lock:
            return await sweep_working_copies(self._root, environ=dict(self._pi.context.environ))


def _report(closed: ClosedCopy, note: str) -> MergeReport:
    path = "" if closed.path is None else str(closed.path)
    locations = [f"the branch {closed.branch}"] if closed.branch else []
    locations += [f"the folder {path}"] if path else []
    if locations:
        note += (
            f" They are on {' and in '.join(locations)}."
            if closed.branch
            else f" They are in {path}."
        )
    if closed.reason:
        note += f" ({closed.reason})"
    return MergeReport(note=note, branch=closed.branch, path=path)
