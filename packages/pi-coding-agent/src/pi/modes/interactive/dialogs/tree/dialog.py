"""Dialog to go to another point of the session, and the component that shows the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.compaction.options import BranchSummaryOptions
from pi.coding.port.results import Navigated
from pi.modes.interactive.dialogs.panel import make_panel
from pi.modes.interactive.dialogs.questions import WRITING, Option, choose, edit_text
from pi.modes.interactive.dialogs.tree.nodes import Node, read_tree
from pi.modes.interactive.dialogs.tree.view import STEP, Mode, Row, TreeView
from pi.modes.interactive.dialogs.waiting import wait_for
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.widgets.input import Input

# Rows ---------------------------------------------------------------------------------------------


_MIN_TEXT = 24
"""Minimum columns for the text of an entry, however deep it is."""


def draw_row(
    view: TreeView, row: Row, theme: Theme, width: int, *, selected: bool, times: bool
) -> str:
    """Connectors, a bullet on the active branch, the label and the description."""
    node = view.tree.nodes[row.place]
    lines = theme.paint("dim")(fit_connectors(row.lines, width - _MIN_TEXT))
    fold = theme.paint("accent")("⊞ ") if row.hidden else ""
    bullet = theme.paint("accent")("• ") if view.is_active(row.place) else ""
    count = theme.paint("dim")(f" (+{row.hidden})") if row.hidden else ""
    text = _label(node, theme, times=times) + _draw_description(node, theme)
    text_width = max(width - visible_width(count), 1)
    drawn = truncate_to_width(f"{lines}{fold}{bullet}{text}", text_width, "…") + count
    drawn = truncate_to_width(drawn, width, "")
    return theme.bold(drawn) if selected else drawn


def fit_connectors(lines: str, max_width: int) -> str:
    """Limit connectors to ``max_width`` columns: those nearest to the entry are kept.

    Only whole steps are removed, so that rows of one branch stay aligned.
    """
    max_width = max(max_width, STEP + 2)
    if len(lines) <= max_width:
        return lines
    kept_width = (max_width - 2) // STEP * STEP
    return "… " + lines[-kept_width:]


def _label(node: Node, theme: Theme, *, times: bool) -> str:
    if not node.label:
        return ""
    when = f" {_local(node.label_timestamp)}" if times else ""
    return theme.paint("warning")(f"[{node.label}{when}] ")


def _local(timestamp: str) -> str:
    """A time in the local time zone; an invalid one is returned unchanged."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):  # not a time, or out of range
        return one_line(timestamp)


def _draw_description(node: Node, theme: Theme) -> str:
    description = node.description
    match description.kind:
        case "user":
            return f"{theme.paint('accent')('user:')} {description.text}"
        case "assistant":
            paint = theme.paint("error" if description.failed else "success")
            return f"{paint('assistant:')} {description.text}"
        case "tools only":
            return theme.paint("muted")(f"assistant: {description.text}")
        case "tool":
            paint = theme.paint("error" if description.failed else "muted")
            return paint(
                f"[{description.role}: {description.text}]"
                if description.text
                else f"[{description.role}]"
            )
        case "other":
            return (
                f"{theme.paint('customMessageLabel')(f'[{description.role}]')} {description.text}"
            )
        case "bookkeeping":
            return theme.paint("dim")(f"[{description.role}: {description.text}]")


# Tree ---------------------------------------------------------------------------------------------

_FILTERS: dict[str, Mode] = {
    "app.tree.filter.default": "default",
    "app.tree.filter.noTools": "no-tools",
    "app.tree.filter.userOnly": "user-only",
    "app.tree.filter.labeledOnly": "labeled-only",
    "app.tree.filter.all": "all",
}
_ALSO: dict[str, Mode] = {
    "alt+d": "default",
    "alt+t": "no-tools",
    "alt+u": "user-only",
    "alt+l": "labeled-only",
    "alt+a": "all",
}
"""Additional filter keys, unless the user bound them to another action of the tree."""


_ROOMY = 8
"""Rows of the list from which an empty row separates it from the search."""


class TreeSelector:
    """Lists a ``TreeView`` and moves in it.

    ``on_pick`` gets the id of the chosen entry, ``on_label`` an id and its new label.
    """

    def __init__(
        self,
        view: TreeView,
        theme: Theme,
        keymap: Keymap,
        *,
        rows: Callable[[], int],
        on_pick: Callable[[str], None],
        on_cancel: Callable[[], None],
        on_label: Callable[[str, str], None],
    ) -> None:
        self._view = view
        self._theme = theme
        self._keymap = keymap
        self._rows = rows
        self._on_pick = on_pick
        self._on_cancel = on_cancel
        self._on_label = on_label
        self._shows_times = False
        self._search = Input(
            prompt=" > ",
            placeholder="Type to search",
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_change=view.search,
        )
        self._search.set_value(view.query)
        self.invalidate = self._search.invalidate
        """Invalidates the cached rows."""
        self._label: Input | None = None
        """The field for a label."""
        self.focused = False
        """Whether a cursor is shown."""

    @property
    def is_labelling(self) -> bool:
        """Whether a label is being edited."""
        return self._label is not None

    def handle_input(self, data: str) -> None:
        """Move, filter, search, fold, label, choose or close."""
        if self._label is not None:
            self._label.handle_input(data)
        elif (
            not self._handle_move(data)
            and not self._handle_filter(data)
            and not self._handle_action(data)
        ):
            self._search.handle_input(data)

    def render(self, width: int) -> list[str]:
        """The search, the rows around the selection, the position, and the label field."""
        self._search.focused = self.focused and self._label is None
        gap = [""] if self._rows() >= _ROOMY else []
        rows = [*self._search.render(width), *gap, *self._visible_rows(width), self._position()]
        if self._label is not None:
            self._label.focused = self.focused
            rows += ["", *self._label.render(width)]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _visible_rows(self, width: int) -> Iterator[str]:
        view = self._view
        if not view.rows:
            yield self._theme.paint("muted")("   No entries")
        most = self._rows()
        first = max(0, min(view.index - most // 2, len(view.rows) - most))
        for index, row in enumerate(view.rows[first : first + most], first):
            arrow = self._theme.paint("accent")("→") if index == view.index else " "
            drawn = draw_row(
                view,
                row,
                self._theme,
                max(width - 3, 1),
                selected=index == view.index,
                times=self._shows_times,
            )
            yield f" {arrow} {drawn}"

    def _position(self) -> str:
        view = self._view
        position = f"({view.index + 1}/{len(view.rows)}) " if view.rows else ""
        return self._theme.paint("dim")(f"   {position}[{view.mode}]")

    def _handle_move(self, data: str) -> bool:
        actions = self._keymap.actions(data)
        view = self._view
        if "app.tree.foldOrUp" in actions:
            view.fold_or_up()
        elif "app.tree.unfoldOrDown" in actions:
            view.unfold_or_down()
        elif "tui.select.up" in actions:
            view.move(-1)
        elif "tui.select.down" in actions:
            view.move(1)
        elif "tui.select.pageUp" in actions or matches_key(data, "left"):
            view.jump(-self._rows())
        elif "tui.select.pageDown" in actions or matches_key(data, "right"):
            view.jump(self._rows())
        else:
            return False
        return True

    def _handle_filter(self, data: str) -> bool:
        actions = self._keymap.actions(data)
        modes = [_FILTERS[action] for action in actions if action in _FILTERS]
        if not any(action.startswith("app.tree.") for action in actions):
            modes = [mode for key, mode in _ALSO.items() if matches_key(data, key)]
        if modes:
            self._view.filter(modes[0])
        elif "app.tree.filter.cycleForward" in actions:
            self._view.cycle_filter(1)
        elif "app.tree.filter.cycleBackward" in actions:
            self._view.cycle_filter(-1)
        else:
            return False
        return True

    def _handle_action(self, data: str) -> bool:
        if self._view.query and len(data) == 1 and data.isprintable():
            return False  # Shift+L and Shift+T are capitals of the search
        actions = self._keymap.actions(data)
        node = self._view.selected
        if "tui.select.confirm" in actions:
            if node is not None:
                self._on_pick(node.id)
        elif "tui.select.cancel" in actions:
            if self._view.query and matches_key(data, "escape"):
                self._search.set_value("")
                self._view.search("")
            else:
                self._on_cancel()
        elif "app.tree.toggleLabelTimestamp" in actions:
            self._shows_times = not self._shows_times
        elif "app.tree.editLabel" in actions:
            self._edit_label()
        else:
            return False
        return True

    def _edit_label(self) -> None:
        node = self._view.selected
        if node is None:
            return

        def close() -> None:
            self._label = None

        def save(text: str) -> None:
            close()
            self._on_label(node.id, one_line(text))

        self._label = Input(
            prompt=" Label: ",
            placeholder="empty removes the label",
            placeholder_paint=self._theme.paint("dim"),
            keymap=self._keymap,
            on_submit=save,
            on_cancel=close,
        )
        self._label.set_value(node.label)


# Dialog -------------------------------------------------------------------------------------------

ALREADY_THERE = "Already at this point"
MIN_ROWS = 5
"""Listed rows on a small screen; otherwise half of the screen."""

_KEYS = (
    ("tui.select.confirm", "go"),
    ("app.tree.editLabel", "label"),
    ("app.tree.foldOrUp", "fold"),
    ("app.tree.filter.cycleForward", "filter"),
    ("tui.select.cancel", "cancel"),
)


class Summary(Record):
    """Whether to summarise the branch that is left, with optional instructions."""

    is_requested: bool
    instructions: str = ""


async def walk_tree(ui: Ui) -> None:
    """Show the tree until the user goes to an entry or closes it.

    Cancelling the question about a summary, or the summary itself, returns to the tree in its
    previous state; the session does not move.
    """
    view = TreeView(read_tree(ui.port), ui.port.settings.values.tree_filter_mode)
    while (picked := await pick_entry(ui, view)) is not None:
        if picked == ui.port.entries.log.leaf_id:
            ui.notify(ALREADY_THERE)
            return
        summary = await _ask_for_summary(ui)
        if summary is not None:
            moved = await _go_to(ui, picked, summary)
            if moved is not None and not moved.aborted:
                if not moved.cancelled:
                    arrive(ui, moved.text)
                return
            ui.notify("Summary cancelled.")
        view.replace(read_tree(ui.port))


async def pick_entry(ui: Ui, view: TreeView) -> str | None:
    """Return the id of the entry that the user chooses; labels are saved at once."""
    port = ui.port
    async with TaskScope() as tasks:

        async def save(id: str, label: str) -> None:
            await port.info.label(id, label or None)
            view.replace(read_tree(port))
            ui.request_render()

        def start_saving(id: str, label: str) -> None:
            tasks.start(save(id, label), name="label")

        def build(done: Callable[[str | None], None]) -> Component:
            inside = TreeSelector(
                view,
                ui.theme,
                ui.keymap,
                rows=lambda: max(MIN_ROWS, ui.rows // 2),
                on_pick=done,
                on_cancel=lambda: done(None),
                on_label=start_saving,
            )
            return make_panel(
                ui, "Session Tree", inside, lambda: WRITING if inside.is_labelling else _KEYS
            )

        return await ui.show(build)


def arrive(ui: Ui, text: str | None) -> None:
    """Put the message at the new position into the editor.

    A draft is never overwritten.
    """
    if text is None:
        return
    if ui.get_editor_text().strip():
        ui.notify("Your draft was kept; the message was not put into the editor.", "warning")
    else:
        ui.set_editor_text(text)


async def _ask_for_summary(ui: Ui) -> Summary | None:
    """Ask whether to summarise; ``None`` returns to the tree."""
    options = ui.port.settings.section(("branchSummary",), BranchSummaryOptions)
    if not options.asks:
        return Summary(is_requested=False)
    while True:
        answer: Literal["no", "yes", "custom"] | None = await choose(
            ui,
            "Summarize the branch you leave?",
            [
                Option(value="no", label="No summary"),
                Option(value="yes", label="Summarize"),
                Option(value="custom", label="Summarize with custom prompt"),
            ],
        )
        match answer:
            case None:
                return None
            case "no":
                return Summary(is_requested=False)
            case "yes":
                return Summary(is_requested=True)
            case "custom":
                text = await edit_text(ui, "What should the summary focus on?")
                if text is not None:
                    return Summary(is_requested=True, instructions=text)


async def _go_to(ui: Ui, id: str, summary: Summary) -> Navigated | None:
    tree = ui.port.tree
    if not summary.is_requested:
        return await tree.go_to(id)
    work = tree.go_to(id, summarize=True, instructions=summary.instructions)
    return await wait_for(ui, "Summarizing the branch…", work, on_cancel=tree.abort)
