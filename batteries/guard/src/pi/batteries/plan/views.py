"""Draws a proposal: the plan as Markdown, and the decision of the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pi.extension import Theme, ToolView, ViewOptions, one_line
from pi.tui.widgets.markdown.nodes import MarkdownTheme
from pi.tui.widgets.markdown.widget import Markdown

DECISIONS = {
    "approved": ("success", "approved"),
    "refine": ("warning", "to be refined"),
    "undecided": ("muted", "not decided: /plan-review asks again"),
}


def proposal(call: ToolView, options: ViewOptions, theme: Theme) -> PlanRows:
    """The rows of a proposal. The first row is drawn after the name of the tool."""
    details = call.details if isinstance(call.details, dict) else {}
    title = str(details.get("title") or call.arguments.get("title") or "…")
    plan = str(details.get("plan") or call.arguments.get("plan") or "")
    colour, word = DECISIONS.get(str(details.get("decision")), ("", ""))
    if call.state == "failed":
        plan, colour, word = "", "error", one_line(call.text)
    head = theme.fg("accent", one_line(title))
    if word:
        head += theme.fg("muted", " · ") + theme.fg(colour, word)
    return PlanRows(head, plan, theme)


class PlanRows:
    """A proposal for any width."""

    def __init__(self, head: str, plan: str, theme: Theme) -> None:
        self._head = head
        self._plan = Markdown(plan, 0, 0, markdown_theme(theme)) if plan.strip() else None

    def render(self, width: int) -> list[str]:
        """Return the title and the plan; never folded, because the user decides about it."""
        return [self._head, *(self._plan.render(width) if self._plan else ())]


def markdown_theme(theme: Theme) -> MarkdownTheme:
    """Return the colours of Markdown texts in a theme."""

    def colour(name: str) -> Callable[[str], str]:
        return partial(theme.fg, name)

    return MarkdownTheme(
        text=colour("text"),
        heading=lambda text: theme.bold(theme.fg("mdHeading", text)),
        link=colour("mdLink"),
        link_url=colour("mdLinkUrl"),
        code=colour("mdCode"),
        code_block=colour("mdCodeBlock"),
        code_border=colour("mdCodeBlockBorder"),
        quote=colour("mdQuote"),
        quote_border=colour("mdQuoteBorder"),
        rule=colour("mdHr"),
        bullet=colour("mdListBullet"),
    )
