"""Instructions of folders below the working directory: sent when a file there is first read.

The prompt has the files from the root of the file system down to the working directory. Those of
deeper folders would cost every session tokens, so the model gets them with the first file that it
reads there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from pi.agent.policy import Boundary, Next, Policy
from pi.agent.tools.tool import ToolResult
from pi.ai.messages import ToolCall
from pi.base.records import replace
from pi.coding.prompt import project_instructions
from pi.coding.resources.instructions import ContextFile
from pi.coding.resources.sources import BadResource, read_text
from pi.coding.runtime.live import LiveSession
from pi.coding.session.context import build_session_context
from pi.coding.session.entries import CustomMessage, CustomMessageEntry
from pi.coding.trust import context_files, nearest

CUSTOM_TYPE = "project-instructions"
TEXT = """\
<system-reminder>
These instructions of the project apply to the files below {folders}, one of which you have just \
read.

{files}
</system-reminder>"""
MAX_FILES = 20
"""Files that are read at the end of one turn."""


class NestedInstructions(Policy):
    """Sends the instruction files of the folders in which a turn has read files."""

    def __init__(self, core: LiveSession, *, is_on: bool) -> None:
        self._core = core
        self._is_on = is_on
        self._read: dict[Path, None] = {}
        """The files that the turn has read."""
        self._refused: set[Path] = set()
        """Files that were named because they are not trusted or cannot be read."""

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Record a file that was read."""
        path = call.arguments.get("path")
        is_read = self._is_on and call.name == "read" and not result.is_error
        if is_read and isinstance(path, str) and "://" not in path:
            self._read[self._core.workspace.local.files.resolve(path)] = None
        return result

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Append the instructions that the context does not have."""
        if boundary.kind != "turn" or not self._read:
            return boundary.next
        paths, self._read = [*self._read], {}
        instruction_files = await asyncio.to_thread(
            lambda: [*self._instruction_files(paths)][:MAX_FILES]
        )
        if not instruction_files:
            return boundary.next
        context_paths = self._paths_in_context()
        files = [
            file
            for path in instruction_files
            if str(path) not in context_paths
            for file in self._content(path)
        ]
        if not files:
            return boundary.next
        folders = ", ".join(str(Path(file.path).parent) for file in files)
        entry = CustomMessageEntry(
            custom_type=CUSTOM_TYPE,
            content=TEXT.format(folders=folders, files=project_instructions(files)),
            display=False,
            details={"files": [file.path for file in files]},
        )
        return replace(boundary.next, entries=(*boundary.next.entries, entry))

    def _instruction_files(self, paths: Sequence[Path]) -> Iterator[Path]:
        """The instruction files between the working directory and the files, nearest last."""
        cwd = self._core.workspace.cwd
        folders: dict[Path, None] = {}
        for path in paths:
            if path.is_relative_to(cwd):
                below = [parent for parent in path.parents if parent.is_relative_to(cwd)]
                folders.update(dict.fromkeys(reversed(below[:-1])))
        yield from context_files(folders).values()

    def _paths_in_context(self) -> set[str]:
        """The files that the model has; a compaction may have removed some."""
        context_paths = {file.path for file in self._core.workspace.resources.context.files}
        for message in build_session_context(self._core.log).messages:
            match message:
                case CustomMessage(custom_type="project-instructions", details={"files": [*paths]}):
                    context_paths.update(map(str, paths))
        return context_paths

    def _content(self, path: Path) -> list[ContextFile]:
        """The file, if it may be read; the user is told once if not."""
        if path in self._refused:
            return []
        workspace = self._core.workspace
        try:
            if not workspace.trust.trusted or nearest(workspace.trust.decisions, path) is False:
                raise BadResource("this project is not trusted")
            return [ContextFile(path=str(path), content=read_text(path))]
        except BadResource as error:
            self._refused.add(path)
            self._core.machine.report(f"{path} was not read: {error.message}.")
            return []
