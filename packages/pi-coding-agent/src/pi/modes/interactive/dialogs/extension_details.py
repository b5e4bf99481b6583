"""The details of one extension, and what can be done with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.libraries import installed_size
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.extension_host.switches import counts_as_on, find_row, sentence
from pi.coding.packages.libraries import megabytes, plan_libraries
from pi.coding.packages.programs import requirement_name
from pi.coding.port.extensions import ExtensionRow
from pi.modes.interactive.dialogs.extension_switching import ask_value, switch_extension
from pi.modes.interactive.dialogs.panel import LIST_INSET, make_panel
from pi.modes.interactive.dialogs.questions import CHOOSING, Option
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.text.width import pad_to_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.select_list import SelectItem, SelectList

Action: TypeAlias = Literal["on", "on for now", "off", "off for now", "value", "back"]

_LABEL_WIDTH = 11
_FRAME_ROWS = 8
"""Rows of the dialog beside facts and options: borders, title, gaps, hints, footer."""


async def show_details(ui: Ui, row: ExtensionRow) -> None:
    """Show an extension and do what the user chooses. Raises ``PiError``."""
    row = find_row(ui.port.extensions.switches.rows(), row.name)
    async with TaskScope() as tasks:

        def build(done: Callable[[Action | None], None]) -> Component:
            details = ExtensionDetails(ui, row, done)
            if row.needs:
                tasks.start(details.look_up_sizes(), name=f"sizes of libraries of {row.name}")
            return make_panel(ui, row.name, details, lambda: CHOOSING, inset=LIST_INSET)

        action = await ui.show(build)
    match action:
        case "on" | "on for now":
            await switch_extension(ui, row.name, on=True, keep=action == "on")
        case "off" | "off for now":
            await switch_extension(ui, row.name, on=False, keep=action == "off")
        case "value":
            if (value := await ask_value(ui, row)) is not None:
                await switch_extension(ui, row.name, on=True, value=value)


class ExtensionDetails:
    """Facts about an extension, and the list of actions."""

    def __init__(self, ui: Ui, row: ExtensionRow, done: Callable[[Action | None], None]) -> None:
        self._ui = ui
        self._row = row
        self._sizes = "looking up the size…" if row.needs else ""
        """The libraries that would be installed."""
        added = (text for info in ui.port.extensions.infos() for text in info.adds)
        self._declared = {text.removeprefix("tool ") for text in added if text.startswith("tool ")}
        options = actions_of(row)
        self._list = SelectList(
            [
                SelectItem(value=option.value, label=option.label, description=option.description)
                for option in options
            ],
            len(options),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done(next(o.value for o in options if o.value == item.value)),
            on_cancel=lambda: done(None),
        )
        self.handle_input = self._list.handle_input
        """Moves, chooses or cancels."""
        self.invalidate = self._list.invalidate
        """Invalidates the cached rows."""

    async def look_up_sizes(self) -> None:
        """Ask the package index for the sizes of the missing libraries."""
        host, row = self._ui.host, self._row
        environ = host.environment.of_process
        try:
            plan = await plan_libraries(row.needs, environ, purpose=row.name, offline=host.offline)
        except PiError:  # the installation itself names the reason
            self._sizes = "size unknown"
        else:
            self._sizes = ", ".join(library.text for library in plan.libraries)
        self._ui.request_render()

    def render(self, width: int) -> list[str]:
        """The facts, cut on a low screen, and the actions."""
        actions = self._list.render(width)
        paint = self._ui.theme.paint
        rows: list[str] = []
        for label, text in details_of(self._row, self._sizes, declared=self._declared):
            head = pad_to_width(label, _LABEL_WIDTH) if label else ""
            lines = wrap_text(one_line(text), max(width - len(head), 1))
            rows += [
                paint("muted")(head if index == 0 else " " * len(head)) + line
                for index, line in enumerate(lines)
            ]
        row_limit = max(self._ui.rows - len(actions) - _FRAME_ROWS, 1)
        return [*rows[:row_limit], "", *actions]


def details_of(
    row: ExtensionRow, sizes: str = "", *, declared: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """The facts about an extension, each with a label.

    ``sizes`` are those of the missing libraries, ``declared`` the tools of all extensions.
    """
    yield "", row.benefit
    yield "State", f"{_state(row)}{f' {row.problem}' if row.problem else ''}"
    is_loaded = row.state in ("on", "session") and row.milliseconds > 0
    # Extensions do not declare what lacks a key or a library, or is off.
    if is_loaded and (absent := [name for name in row.tools if name not in declared]):
        yield "", f"The model does not have {' and '.join(absent)} now."
    added = [
        f"{noun} {', '.join(prefix + name for name in names)}"
        for noun, prefix, names in (
            ("tools", "", row.tools),
            ("commands", "/", row.commands),
            ("options", "--", row.flags),
        )
        if names
    ]
    if added:
        yield "Adds", " · ".join(added)
    if row.tokens is not None:
        yield "Requests", f"about {row.tokens} tokens more" if row.tokens else "no more tokens"
    if row.libraries or row.needs:
        yield "Libraries", _libraries(row, sizes)
    if row.setting:
        yield "Setting", row.setting
    if row.activation and not row.setting:
        yield "Used with", ", ".join(row.activation)
    if row.milliseconds:
        yield "Loaded in", f"{row.milliseconds:.1f} ms"
    if row.rank != "bundled":
        yield "From", f"{row.path} ({row.source})" if row.rank == "package" else row.path


def _state(row: ExtensionRow) -> str:
    if row.state == "on" and row.value is not None:
        return f"on in settings ({row.setting}: {json.dumps(row.value, ensure_ascii=False)})"
    if row.state == "session":
        return "on for this session only"
    return sentence(row).removeprefix(f"{row.name} is ").removesuffix(".")


def _libraries(row: ExtensionRow, sizes: str) -> str:
    installed = []
    for requirement in row.libraries:
        if requirement not in row.needs:
            size = installed_size(name := requirement_name(requirement))
            installed.append(f"{name} ({megabytes(size)}, installed)")
    missing = [requirement_name(requirement) for requirement in row.needs]
    if missing:
        installed.append(
            f"missing: {sizes if '(' in sizes else ', '.join(missing) + f' ({sizes})'}"
        )
    return ", ".join(installed)


def actions_of(row: ExtensionRow) -> Sequence[Option[Action]]:
    """What can be done with an extension."""
    options: list[Option[Action]] = []
    if row.state == "needs":
        options.append(Option(value="on", label="Install the libraries and switch on"))
    elif row.setting and row.state != "failed":
        options += _switches(row)
    return [*options, Option(value="back", label="Back")]


def _switches(row: ExtensionRow) -> Iterator[Option[Action]]:
    if not counts_as_on(row):
        yield Option(value="on", label="Switch on")
        yield Option(value="on for now", label="Switch on for this session only")
    elif row.state == "session":
        yield Option(value="on", label="Keep it on in new sessions")
        yield Option(value="off for now", label="Switch off")
    else:
        yield Option(value="off", label="Switch off")
        yield Option(value="off for now", label="Switch off for this session only")
    if row.asks or len(row.choices) > 2:
        yield Option(value="value", label="Choose another value", description=row.setting)
