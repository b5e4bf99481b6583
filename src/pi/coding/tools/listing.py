"""Results that are lists of lines: cut to a size, with notices of what is missing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pi.agent.tool import ToolResult
from pi.ai.messages import Json
from pi.base.records import UNSET, UnsetType
from pi.coding.shell.truncation import keep_head, size_text

REFINE = ", or refine pattern"
"""What else helps against too many results of a search."""


class Limited(NamedTuple):
    """Something that is not all there is."""

    detail: str
    """Its name in the details."""
    value: Any
    notice: str


def at_least_one(given: float | UnsetType, default: int) -> int:
    """A limit as a model gives it."""
    return default if isinstance(given, UnsetType) else max(int(given), 1)


def more_than(limit: int, found: int, names: tuple[str, str], advice: str = "") -> Limited | None:
    """That ``found`` things, by their ``names`` as one and as many, are more than are shown."""
    if found <= limit:
        return None
    one, many = names
    notice = f"{limit} {many} limit reached. Use limit={2 * limit} for more{advice}"
    return Limited(f"{one}LimitReached", limit, notice)


def listing(lines: Sequence[str], *limited: Limited | None) -> ToolResult:
    """Lines as a result, with one bracket that holds all notices."""
    cut = keep_head("\n".join(lines).encode("utf-8", "replace"))
    details: Json = {each.detail: each.value for each in limited if each}
    notices = [each.notice for each in limited if each]
    if cut.truncated:
        details["truncation"] = cut.as_json()
        by_lines = cut.truncated_by == "lines"
        limit = f"{cut.max_lines} lines" if by_lines else size_text(cut.max_bytes)
        notices.append(f"{limit} limit reached")
    text = f"{cut.content}\n\n[{'. '.join(notices)}]" if notices else cut.content
    return ToolResult.of(text, details=details or UNSET)
