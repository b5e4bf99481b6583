"""``/context``: what fills the window of the model, as a bar with parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.ai.json_text import json_bytes
from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.token_estimates import CHARACTERS_PER_TOKEN, estimated_tokens
from pi.ai.transcript import checkpoint
from pi.base.records import Record
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import BashExecution, SessionMessage
from pi.coding.session.statistics import ContextUsage
from pi.modes.interactive.dialogs.key_sections import tokens
from pi.modes.interactive.theme import Theme
from pi.tui.text.width import truncate_to_width

INSTRUCTIONS = frozenset({"project_context", "addendum"})
"""Sections of the system prompt that the user wrote."""
MAX_BAR = 60


class ContextPart(Record):
    """One part of the window."""

    name: str
    tokens: int


# Sizes --------------------------------------------------------------------------------------------


def context_parts(
    messages: Sequence[SessionMessage], next_system: SystemMessage, total: int | None
) -> list[ContextPart]:
    """Return the parts of the context with estimated sizes.

    ``next_system`` counts while nothing was sent yet. The estimates are scaled to ``total``, the
    count of the provider, if it is known.
    """
    system = [message for message in messages if isinstance(message, SystemMessage)]
    full_system = checkpoint(system) or next_system
    sections = full_system.sections if isinstance(full_system.sections, dict) else {}
    sizes = {name: len(text or "") for name, text in sections.items()}
    instructions = sum(sizes[name] for name in INSTRUCTIONS & sizes.keys())
    of_tools = sizes.get("tools", 0) + len(json_bytes(full_system.tools_added or ()))
    others = sum(sizes.values()) - instructions - sizes.get("tools", 0)
    results, rest = 0, 0
    for message in messages:
        size = estimated_tokens(convert_to_llm([message]))
        if isinstance(message, ToolResultMessage | BashExecution):
            results += size
        elif not isinstance(message, SystemMessage):
            rest += size
    parts = [
        ContextPart(name="System prompt", tokens=others // CHARACTERS_PER_TOKEN),
        ContextPart(name="Tools", tokens=of_tools // CHARACTERS_PER_TOKEN),
        ContextPart(name="Instructions", tokens=instructions // CHARACTERS_PER_TOKEN),
        ContextPart(name="Messages", tokens=rest),
        ContextPart(name="Tool results", tokens=results),
    ]
    estimated = sum(part.tokens for part in parts)
    # Some servers count wrongly: a count far from the estimate is not used.
    if not system or not total or not estimated / 2 <= total <= estimated * 2:
        return parts
    return [
        ContextPart(name=part.name, tokens=round(part.tokens * total / estimated)) for part in parts
    ]


# View ---------------------------------------------------------------------------------------------


_FILLS = "█▓▒▞▚"
_FREE = "·"
_TOKENS = ("accent", "mdLink", "warning", "success", "mdHeading")
"""Theme colours of the parts; the fill differs too, for terminals without colours."""


class ContextView:
    """A heading, the bar, and one row per part."""

    def __init__(self, theme: Theme, parts: Sequence[ContextPart], usage: ContextUsage) -> None:
        self._theme = theme
        self._parts = parts
        self._window = usage.context_window
        self._used = sum(part.tokens for part in parts)

    def invalidate(self) -> None:
        """Do nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """Return the rows."""
        muted = self._theme.paint("muted")
        heading = self._theme.heading("Context")
        used = f"{tokens(self._used)} of {tokens(self._window)} tokens ({self._share(self._used)})"
        rows = [f"{heading}  {used}", "", self._bar(min(max(width - 2, 1), MAX_BAR)), ""]
        free = ContextPart(name="Free", tokens=max(self._window - self._used, 0))
        for index, part in enumerate((*self._parts, free)):
            mark = self._paint(index)(_FILLS[index]) if index < len(_FILLS) else muted(_FREE)
            share = muted(f"{self._share(part.tokens):>7}")
            rows.append(f"{mark} {part.name:<15}{tokens(part.tokens):>7} {share}")
        return ["", *(truncate_to_width(f" {row}" if row else "", width, "…") for row in rows)]

    def _bar(self, width: int) -> str:
        """Return the bar; a part that is not empty has at least one column."""
        columns = [
            max(round(part.tokens / self._window * width), 1) if part.tokens else 0
            for part in self._parts
        ]
        while sum(columns) > width:
            columns[columns.index(max(columns))] -= 1
        filled = "".join(
            self._paint(index)(_FILLS[index] * n) for index, n in enumerate(columns) if n
        )
        return filled + self._theme.paint("dim")(_FREE * (width - sum(columns)))

    def _paint(self, index: int) -> Callable[[str], str]:
        return self._theme.paint(_TOKENS[index])

    def _share(self, count: int) -> str:
        return f"{count / self._window * 100:.1f}%"
