"""Merge conflicts that ``read`` has shown: ``conflict://N``."""

from __future__ import annotations

from typing import Any

from pi.batteries.rich_files import conflicts
from pi.batteries.rich_files.session_files import read_file, relative, write_file
from pi.extension import (
    ExtensionAPI,
    PiError,
    Resource,
    ResourceRef,
    ResourceWindow,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    replace,
)

_MARKER = "<<<<<<< "


class ConflictHandler:
    """``conflict://N``, ``conflict://N/ours`` and ``conflict://*``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._known = conflicts.ConflictRegistry()

    async def after_read(self, params: Any, ctx: ToolContext, inner: Any) -> Any:
        """Number the conflicts of a file that was read, and say how to resolve them."""
        result: ToolResult = await inner(params)
        texts = [part.text for part in result.content if isinstance(part, Text)]
        if "://" in params.path or not any(_MARKER in text for text in texts):
            return result
        path = self._pi.context.files.resolve(params.path)
        if not path.is_file() or path.stat().st_size > conflicts.MAX_FILE:
            return result
        data = await read_file(self._pi, str(path), conflicts.MAX_FILE)
        numbered = self._known.record(path, data.decode("utf-8", "replace"))
        if not numbered:
            return result
        places = ", ".join(f"conflict://{n} (line {c.line})" for n, c in numbered.items())
        note = (
            f"[Merge conflicts: {places}. Read conflict://N/ours, /theirs or /base; write the"
            " resolution, or @ours, @theirs, @base or @both, to conflict://N or conflict://*.]"
        )
        return replace(result, content=(*result.content, Text(text=note)))

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The files of the conflicts."""
        try:
            found = self._targets(ref.rest)
        except ToolFailed:
            return ()
        return tuple(dict.fromkeys(str(each.path) for each in found.values()))

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return a conflict, one of its sides, or the list of all."""
        if ref.rest in ("", "*"):
            lines = [
                f"conflict://{number}: {relative(self._pi, str(each.path))}:{each.line}"
                for number, each in self._known.all().items()
            ]
            return Resource(text="\n".join(lines))
        number, slash, side = ref.rest.partition("/")
        found = self._known.get(number)
        return Resource(text=found.side(side) if slash else found.text)

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Resolve one conflict, or all."""
        if "/" in ref.rest:
            raise ToolFailed(f"{ref.text} is read-only; write to conflict://N without a side.")
        lines, failures = [], []
        written: dict[str, None] = {}
        targets = self._targets(ref.rest)
        for number, conflict in targets.items():
            shown = relative(self._pi, str(conflict.path))
            try:
                data = await read_file(self._pi, str(conflict.path), conflicts.MAX_FILE)
                before = data.decode("utf-8")
                changed = conflicts.resolved(before, conflict, text)
                await write_file(self._pi, str(conflict.path), changed.encode())
            except UnicodeDecodeError:
                failures.append(f"conflict://{number}: {shown} is not UTF-8")
            except PiError as error:
                failures.append(f"conflict://{number}: {error.message}")
            else:
                self._known.forget(number)
                self._known.record(conflict.path, changed)
                written[str(conflict.path)] = None
                lines.append(f"Resolved conflict://{number} in {shown}:{conflict.line}")
        if failures and not lines:
            raise ToolFailed("\n".join(failures))
        text = "\n".join((*lines, *failures))
        # Extensions that show snapshots of files look for this.
        details = {"resolvedFiles": [*written]}
        return ToolResult.of(text, details=details, is_error=bool(failures))

    def _targets(self, rest: str) -> dict[int, conflicts.Conflict]:
        if rest == "*":
            return self._known.all()
        return {int(rest): self._known.get(rest)} if rest.isdigit() else {0: self._known.get(rest)}
