"""Sends always-apply rules with globs when a matching file is first read or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pi.batteries.rulebook.buckets import SortedRule
from pi.extension import (
    Boundary,
    CustomMessageEntry,
    ExtensionContext,
    FileChange,
    FileWrite,
    FileWritten,
    Next,
    Policy,
    ToolCall,
    ToolResult,
    path_matches,
    replace,
)

MESSAGE = "rulebook-rules"
_TEXT = """\
<system-reminder reason="rule" rule="{name}">
This rule applies to {path}, which you have just used. Follow it from now on.

{content}
</system-reminder>"""


class GlobRules(Policy):
    """Collects the files that a turn touches, and sends the rules for them at its end."""

    def __init__(self, ctx: ExtensionContext, rules: Callable[[], Sequence[SortedRule]]) -> None:
        self._ctx = ctx
        self._rules = rules
        self._touched: dict[str, None] = {}

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Record a file that was read."""
        path = call.arguments.get("path")
        if call.name == "read" and isinstance(path, str) and not result.is_error:
            self._touched[path] = None
        return result

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """Record a file that was written, whichever tool did it."""
        written = await write(change)
        self._touched[str(change.path)] = None
        return written

    async def at_boundary(self, at: Boundary) -> Next:
        """Send the rules of the touched files that are not in the context."""
        if at.kind != "turn" or not self._touched:
            return at.next
        paths, self._touched = [*self._touched], {}
        known = self._in_context()
        texts, names = [], []
        for each in self._rules():
            path = _first_match(each, paths, Path(self._ctx.cwd))
            if path is not None and each.name not in known:
                texts.append(_TEXT.format(name=each.name, path=path, content=each.rule.content))
                names.append(each.name)
        if not names:
            return at.next
        entry = CustomMessageEntry(
            custom_type=MESSAGE,
            content="\n\n".join(texts),
            display=False,
            details={"rules": names},
        )
        return replace(at.next, entries=(*at.next.entries, entry))

    def _in_context(self) -> set[str]:
        """Names of the rules that the model still sees; a compaction may have removed some."""
        names: set[str] = set()
        for entry in self._ctx.session_manager.build_context_entries():
            match entry:
                case CustomMessageEntry(custom_type="rulebook-rules", details={"rules": [*found]}):
                    names.update(map(str, found))
        return names


def _first_match(each: SortedRule, paths: Sequence[str], cwd: Path) -> str | None:
    return next((path for path in paths if path_matches(each.rule.globs, path, cwd)), None)
