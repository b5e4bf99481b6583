"""Draws agents: calls of ``task``, reports, and the screens of ``/agents`` and ``/open``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from pi.batteries.subagents.histories import Histories
from pi.batteries.subagents.nodes import SIGNS, AgentNode
from pi.batteries.subagents.shared import SharedAgent, SharedAgents
from pi.batteries.subagents.work import AgentWork
from pi.extension import (
    CustomMessage,
    Json,
    Theme,
    ToolFailed,
    ToolView,
    ViewOptions,
    one_line,
    sanitise_keeping_style,
)
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.widgets.frame import FRAME_ROWS, framed_rows
from pi.tui.widgets.input import Input
from pi.tui.widgets.markdown.widget import Markdown

COLOURS = {
    "queued": "dim", "running": "accent", "merging": "accent", "completed": "success",
    "failed": "error", "cancelled": "warning",
}  # fmt: skip
COLLAPSED_ROWS = 12
HINT = "Enter transcript · s message · c cancel the agent · ↑↓ select · Escape close"
READ_ONLY_HINT = "This link is view-only: you see the table · ↑↓ select · Escape close"
PAGE_HINT = "↑↓ PageUp PageDown scroll · Escape close"
TRANSCRIPT_HINT = "s message · c cancel the agent · ↑↓ PageUp PageDown scroll · Escape back"
WRITING_HINT = "Enter send · Escape cancel"
MIN_ROWS = 4


# Tool calls and reports ---------------------------------------------------------------------------


def task(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The agents of a call with state and activity; the results when expanded."""
    details = call.details if isinstance(call.details, dict) else {}
    rows = details.get("agents")
    if not isinstance(rows, list) or not rows:
        body = sanitise_keeping_style(call.text).strip("\n").split("\n") if call.text else []
        return [theme.fg("muted", _called(call)), *body]
    lines = [line for row in rows for line in agent_rows(row, theme)]
    head = theme.fg("muted", _called(call))
    if options.expanded and call.text:
        body = sanitise_keeping_style(call.text).strip("\n").split("\n")
        return [head, *lines, "", *body]
    if len(lines) > COLLAPSED_ROWS and not options.expanded:
        hidden = len(lines) - COLLAPSED_ROWS
        lines = [*lines[:COLLAPSED_ROWS], theme.fg("dim", f"… {hidden} more")]
    return [head, *lines]


def _called(call: ToolView) -> str:
    arguments = call.arguments
    if action := arguments.get("action"):
        return one_line(f"{action} {arguments.get('agent', '')}".strip())
    tasks = arguments.get("tasks")
    count = len(tasks) if isinstance(tasks, list) else 1
    return "1 task" if count == 1 else f"{count} tasks"


def agent_rows(row: Json, theme: Theme, indent: str = "") -> list[str]:
    """An agent and its descendants, one row each, and further rows for unmerged work."""
    state = str(row.get("state", ""))
    sign = theme.fg(COLOURS.get(state, "dim"), SIGNS.get(state, "?"))
    name = one_line(f"{row.get('id', '')}")
    line = f"{indent}{sign} {theme.bold(name)} {one_line(str(row.get('title', '')))}"
    facts = [*_facts(row, state)]
    rows = [f"{line}  {theme.fg('dim', ' · '.join(facts))}" if facts else line]
    if unmerged := row.get("branch") or row.get("path"):
        rows.append(
            f"{indent}  {theme.fg('warning', f'! unmerged work: {one_line(str(unmerged))}')}"
        )
    children = row.get("children")
    for child in children if isinstance(children, list) else ():
        rows += agent_rows(child, theme, indent + "  ")
    return rows


def _facts(row: Json, state: str) -> Sequence[str]:
    facts = []
    if row.get("background") and state in ("queued", "running"):
        facts.append("in the background")
    elif state in ("queued", "merging", "cancelled"):
        facts.append(state)
    elif row.get("merged"):
        facts.append("merged")
    if activity := row.get("activity"):
        facts.append(one_line(str(activity)))
    if tokens := row.get("tokens"):
        facts.append(f"{short_count(int(tokens))} tokens")
    if cost := row.get("cost"):
        facts.append(f"${float(cost):.3f}")
    if (reason := row.get("reason")) and state == "failed":
        facts.append(one_line(str(reason)))
    return facts


def short_count(number: int) -> str:
    """``950``, ``12.3k``, ``1.2M``."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def report(message: CustomMessage, options: ViewOptions, theme: Theme) -> list[str]:
    """The final state of a background agent; its result when expanded."""
    details = message.details if isinstance(message.details, dict) else {}
    rows = [line for row in details.get("agents", ()) for line in agent_rows(row, theme)]
    if not options.expanded:
        return rows
    return [*rows, "", *sanitise_keeping_style(str(message.content)).strip("\n").split("\n")]


# Screens ------------------------------------------------------------------------------------------


class TextScreen:
    """A text to scroll through."""

    def __init__(
        self, title: str, text: str, tui: Any, theme: Theme, done: Callable[[Any], None]
    ) -> None:
        self._title = title
        self._body = Markdown(text, pad_x=0, pad_y=0)
        self.invalidate = self._body.invalidate
        """Draws everything again."""
        self._tui = tui
        self._theme = theme
        self._done = done
        self._first = 0
        self._count = 0

    def render(self, width: int) -> list[str]:
        """The title, a page of the text, its position, and the keys."""
        lines = self._body.render(max(width - 2, 1))
        page_height = _page_height(self._tui)
        self._count = max(0, len(lines) - page_height)
        self._first = min(self._first, self._count)
        visible_rows = lines[self._first : self._first + page_height]
        last = self._first + len(visible_rows)
        position = f"{self._first + 1}-{last} of {len(lines)}"
        height = self._tui.terminal.size.rows
        return framed_rows(
            self._theme,
            one_line(self._title),
            visible_rows,
            PAGE_HINT,
            width=width,
            height=height,
            aside=position,
        )

    def handle_input(self, data: str) -> None:
        """Scroll or close."""
        if _closes(data):
            self._done(None)
        else:
            self._first = _scrolled(data, self._first, self._count, _page_height(self._tui))


class _Page(NamedTuple):
    """The content of one page of the screen of agents."""

    title: str
    aside: str
    rows: Sequence[str]
    hints: str


class AgentsScreen:
    """Screen with the tree of agents, or the transcript of one, and an input for messages."""

    def __init__(
        self,
        work: AgentWork | SharedAgents,
        histories: Histories | SharedAgents,
        tui: Any,
        theme: Theme,
        done: Callable[[Any], None],
        *,
        run: Callable[[Coroutine[Any, Any, Any]], None],
        is_read_only: bool = False,
    ) -> None:
        self._is_read_only = is_read_only
        self._work: Any = work
        self._histories: Any = histories
        self._tui = tui
        self._theme = theme
        self._done = done
        self._run = run
        self._selected = ""
        self._is_open = False
        """Whether the transcript of the selected agent is shown."""
        self._first: int | None = None
        """The first row of the transcript; ``None`` follows its end."""
        self._count = 0
        self._field: Input | None = None
        self._body: tuple[str, Markdown] = ("", Markdown(""))
        self._on_close: Callable[[], None] = lambda: None

    def on_close(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the screen is closed."""
        self._on_close = listener

    def invalidate(self) -> None:
        """Draw everything again."""
        self._body[1].invalidate()

    @property
    def _node(self) -> AgentNode | SharedAgent | None:
        nodes = self._work.tree.all()
        selected = next((node for node in nodes if node.id == self._selected), None)
        return selected or (nodes[-1] if nodes else None)

    def render(self, width: int) -> list[str]:
        """The tree with the selected agent, or its transcript."""
        node = self._node
        if node is not None:
            self._selected = node.id
        page = self._transcript(node, width) if self._is_open and node else self._tree(node, width)
        title, aside, rows, hints = page
        if self._field is not None:
            self._field.focused = True
            rows = [*rows, "", *self._field.render(max(width - 1, 1))]
            hints = WRITING_HINT
        height = self._tui.terminal.size.rows
        return framed_rows(self._theme, title, rows, hints, width=width, height=height, aside=aside)

    # Tree -----------------------------------------------------------------------------------------

    def _tree(self, selected: AgentNode | SharedAgent | None, width: int) -> _Page:
        tree, theme = self._work.tree, self._theme
        nodes = tree.all()
        active = len(tree.active())
        if not nodes:
            rows = [theme.fg("muted", "No agent has been started."), ""]
            return _Page("Agents", "", [*rows, *self._definitions(width)], "Escape close")
        height = max(MIN_ROWS, _page_height(self._tui) - 5)
        index = nodes.index(selected) if selected in nodes else 0
        first = max(0, min(index - height // 2, len(nodes) - height))
        rows = [
            self._row(node, width - 1, is_selected=node is selected)
            for node in nodes[first : first + height]
        ]
        if selected is not None:
            rows += ["", *self._facts(selected)]
        hint = READ_ONLY_HINT if self._is_read_only else HINT
        return _Page("Agents", f"{active} working · {len(nodes)} in all", rows, hint)

    def _row(self, node: AgentNode | SharedAgent, width: int, *, is_selected: bool) -> str:
        theme = self._theme
        sign = theme.fg(COLOURS[node.state], SIGNS[node.state])
        arrow = theme.fg("accent", "→") if is_selected else " "
        name = theme.bold(node.id) if is_selected else node.id
        label = f"{arrow} {'  ' * _depth(node)}{sign} {name}  {node.activity or node.title}"
        tokens, cost = node.total()
        right = f"{node.state}  {short_count(tokens):>6}  ${cost:.3f}"
        space = width - visible_width(right) - 2
        if space < 24:  # too narrow for the facts
            return label
        return truncate_to_width(label, space, "…", pad=True) + "  " + theme.fg("dim", right)

    def _facts(self, node: AgentNode | SharedAgent) -> list[str]:
        theme = self._theme
        noun = "request" if node.requests == 1 else "requests"
        facts = [node.agent, node.model, f"{node.requests} {noun}"]
        if self._work.can_continue(node):
            facts.append("parked: takes messages")
        rows = [f"  {one_line(node.title)}", f"  {' · '.join(fact for fact in facts if fact)}"]
        rows += [f"  {one_line(note)}" for note in node.notes]
        rows += [f"  {one_line(node.reason)}"] if node.reason else []
        return [theme.fg("muted", row) for row in rows]

    def _definitions(self, width: int) -> list[str]:
        theme = self._theme
        definitions = [*self._work.catalog.usable().values()]
        column = max((len(definition.name) for definition in definitions), default=0) + 2
        return [
            f"  {definition.name:<{column}}{theme.fg('muted', definition.description)}"
            for definition in definitions
        ]

    # Transcript -----------------------------------------------------------------------------------

    def _transcript(self, node: AgentNode | SharedAgent, width: int) -> _Page:
        try:
            text = self._histories.text(node)
        except (ToolFailed, OSError) as error:
            text = str(error)
        if self._body[0] != text:
            self._body = (text, Markdown(text, pad_x=0, pad_y=0))
        lines = self._body[1].render(max(width - 2, 1))
        height = _page_height(self._tui) - (2 if self._field is not None else 0)
        self._count = max(0, len(lines) - height)
        first = self._count if self._first is None else min(self._first, self._count)
        last = first + len(lines[first : first + height])
        position = f"{first + 1}-{last} of {len(lines)}"
        return _Page(node.id, position, lines[first : first + height], TRANSCRIPT_HINT)

    # Keys -----------------------------------------------------------------------------------------

    def handle_input(self, data: str) -> None:
        """Select, open, write, cancel or close."""
        if self._field is not None:
            self._field.handle_input(data)
        elif _closes(data):
            self._close()
        elif self._is_read_only:
            self._select(data)
        elif matches_key(data, "s"):
            self._write()
        elif matches_key(data, "c"):
            if (node := self._node) is not None:
                self._run(self._work.cancel([node]))
        elif self._is_open:
            first = self._count if self._first is None else self._first
            moved = _scrolled(data, first, self._count, _page_height(self._tui))
            self._first = None if moved >= self._count else moved
        elif matches_key(data, "enter"):
            self._is_open, self._first = self._node is not None, None
        else:
            self._select(data)

    def _select(self, data: str) -> None:
        nodes = [node.id for node in self._work.tree.all()]
        if not nodes:
            return
        index = nodes.index(self._selected) if self._selected in nodes else 0
        self._selected = nodes[_scrolled(data, index, len(nodes) - 1, MIN_ROWS)]

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            return
        self._on_close()
        self._done(None)

    def _write(self) -> None:
        node = self._node
        if node is None:
            return

        def submit(text: str) -> None:
            self._field = None
            if text.strip():
                self._run(self._work.send(node, text))

        def leave() -> None:
            self._field = None

        placeholder = f"Write to {node.id}"
        self._field = Input(
            prompt="> ",
            placeholder=placeholder,
            placeholder_paint=lambda text: self._theme.fg("dim", text),
            on_submit=submit,
            on_cancel=leave,
        )


def _page_height(tui: Any) -> int:
    rows: int = tui.terminal.size.rows
    return max(MIN_ROWS, rows - FRAME_ROWS)


def _depth(node: AgentNode | SharedAgent) -> int:
    return 0 if node.parent is None else 1 + _depth(node.parent)


def _closes(data: str) -> bool:
    return any(matches_key(data, key) for key in ("escape", "ctrl+c", "q"))


def _scrolled(data: str, position: int, last: int, page: int) -> int:
    steps = {"up": -1, "down": 1, "pageUp": -page, "pageDown": page, "home": -position, "end": last}
    for key, step in steps.items():
        if matches_key(data, key):
            return min(max(position + step, 0), last)
    return position
