"""Dialog to go to another point of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from pi.base.records import Record
from pi.base.tasks import LARGE, TaskScope
from pi.coding.compaction.options import BranchSummaryOptions
from pi.coding.port.results import Navigated
from pi.modes.interactive.dialogs.panel import make_panel
from pi.modes.interactive.dialogs.questions import WRITING, Option, choose, edit_text
from pi.modes.interactive.dialogs.tree.nodes import Tree, read_tree
from pi.modes.interactive.dialogs.tree.selector import TreeSelector
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.modes.interactive.dialogs.waiting import wait_for
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component

# Tree ---------------------------------------------------------------------------------------------


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
    if (tree := await _read_tree(ui)) is None:
        return
    view = TreeView(tree, ui.port.settings.values.tree_filter_mode)
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
        if (tree := await _read_tree(ui)) is None:
            return
        view.replace(tree)


async def _read_tree(ui: Ui) -> Tree | None:
    """Return the tree; of a long session it is read in a thread. ``None`` if the user cancelled."""
    port = ui.port
    if len(port.entries.log.tree) <= LARGE:
        return read_tree(port)
    return await wait_for(ui, "Reading the session…", asyncio.to_thread(read_tree, port))


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
