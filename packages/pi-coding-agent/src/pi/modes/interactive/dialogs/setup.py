"""The setup of a new home: theme, approvals and batteries on one screen.

Everything is preselected, so one key accepts all; Escape changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.port.extensions import ExtensionInfo
from pi.coding.settings.guards import RECOMMENDED
from pi.coding.settings.layers import value_at
from pi.modes.interactive.dialogs.panel import make_panel
from pi.modes.interactive.dialogs.questions import Option, choose_several
from pi.modes.interactive.dialogs.settings.theme import theme_names, theme_sample
from pi.modes.interactive.status.footer import short_folder
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import Component
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

TITLE = "Welcome to pi"
MESSAGE = "Enter accepts all · Escape changes nothing · ↑↓ ←→ choose"
"""Names the keys itself: on a low screen a dialog shows no hints."""
AGAIN = "`pi setup` shows the choices again."
LABEL_WIDTH = 13
"""Columns of the names of the choices."""
ROWS_FOR_LISTS, ROWS_FOR_SAMPLE = 24, 30
"""Heights of the screen from which all values and a sample of the theme are shown."""

PERMISSIONS = "permissions.mode"
SYSTEM_THEME = "system"
"""A theme in the colours of the terminal, if there is one."""
CHOOSE, KEEP = "choose", "keep"


class SetupValue(Record):
    """One value of a choice."""

    value: Any
    label: str
    detail: str = ""
    """What it means, shown while it is selected."""


class SetupChoice:
    """One of the choices, with the value that is selected."""

    def __init__(self, label: str, values: Sequence[SetupValue], initial: Any) -> None:
        self.label = label
        self.values = values
        self.index = next(
            (i for i, value in enumerate(values) if value.value == initial),
            0,
        )

    @property
    def selected(self) -> SetupValue:
        """The selected value."""
        return self.values[self.index]

    def move(self, step: int) -> None:
        """Select the next or the previous value."""
        self.index = (self.index + step) % len(self.values)


class SetupForm:
    """The choices of the setup, one of which has the focus."""

    def __init__(
        self,
        ui: Ui,
        choices: Sequence[SetupChoice],
        *,
        preview: Callable[[Any], None],
        accept: Callable[[], None],
        cancel: Callable[[], None],
        focus: int = 0,
    ) -> None:
        self._ui = ui
        self._choices = choices
        self._preview = preview
        self._accept = accept
        self._cancel = cancel
        self._focus = focus

    def invalidate(self) -> None:
        """Nothing is cached."""

    def handle_input(self, data: str) -> None:
        """Move between the choices, change one, accept or cancel."""
        actions = self._ui.keymap.actions(data)
        if "tui.select.cancel" in actions:
            self._cancel()
        elif "tui.select.confirm" in actions:
            self._accept()
        elif "tui.select.up" in actions or matches_key(data, "shift+tab"):
            self._focus = (self._focus - 1) % len(self._choices)
        elif "tui.select.down" in actions or matches_key(data, "tab"):
            self._focus = (self._focus + 1) % len(self._choices)
        elif matches_key(data, "left"):
            self._change(-1)
        elif matches_key(data, "right") or matches_key(data, "space"):
            self._change(1)

    def _change(self, step: int) -> None:
        self._choices[self._focus].move(step)
        if self._focus == 0:
            self._preview(self._choices[0].selected.value)

    def render(self, width: int) -> list[str]:
        """All choices; on a low screen only the selected values."""
        rows: list[str] = []
        lists_values = self._ui.rows >= ROWS_FOR_LISTS
        for number, choice in enumerate(self._choices):
            if lists_values and number:
                rows += ["", *self._choice_rows(choice, number, width)]
            else:
                rows += self._single(choice, number, width)
        if self._ui.rows >= ROWS_FOR_SAMPLE:
            rows += ["", *theme_sample(self._ui.theme, width)]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _head(self, choice: SetupChoice, number: int) -> str:
        is_focused = number == self._focus
        text = f"{'→' if is_focused else ' '} {choice.label}".ljust(LABEL_WIDTH)
        return self._ui.theme.paint("accent" if is_focused else "text", bold=is_focused)(text)

    def _single(self, choice: SetupChoice, number: int, width: int) -> list[str]:
        """Return a choice in one row, and its meaning while it has the focus."""
        paint = self._ui.theme.paint
        value = f"‹ {choice.selected.label} ›"
        count = f"  {choice.index + 1} of {len(choice.values)}"
        if LABEL_WIDTH + visible_width(value + count) > width:
            count = ""
        rows = [self._head(choice, number) + paint("accent")(value) + paint("dim")(count)]
        return rows + (self._detail(choice, width) if number == self._focus else [])

    def _choice_rows(self, choice: SetupChoice, number: int, width: int) -> list[str]:
        """Return a choice with all its values."""
        paint = self._ui.theme.paint
        rows = []
        for index, value in enumerate(choice.values):
            head = self._head(choice, number) if index == 0 else " " * LABEL_WIDTH
            if index != choice.index:
                rows.append(head + paint("muted")(f"○ {value.label}"))
                continue
            rows.append(head + paint("accent")(f"● {value.label}"))
            rows += self._detail(choice, width)
        return rows

    def _detail(self, choice: SetupChoice, width: int) -> list[str]:
        if not choice.selected.detail:
            return []
        indent = " " * (LABEL_WIDTH + 2)
        lines = wrap_text(choice.selected.detail, max(width - len(indent), 20))
        return [indent + self._ui.theme.paint("dim")(line) for line in lines]


async def set_up(ui: Ui, *, is_new: bool) -> None:
    """Ask for theme, approvals and batteries, and save what was accepted.

    In a new home the recommendations are preselected, otherwise the current settings.
    """
    before = ui.port.settings.values.theme
    theme, approvals, batteries = choices = (
        theme_choice(ui, before, is_new=is_new),
        approval_choice(ui, is_new=is_new),
        battery_choice(ui, is_new=is_new),
    )

    def preview(name: str | None) -> None:
        with report_errors(ui):
            ui.themes.use(name)
            ui.request_render()

    def build(focus: int, done: Callable[[bool], None]) -> Component:
        form = SetupForm(
            ui,
            choices,
            preview=preview,
            accept=partial(done, True),  # noqa: FBT003 - the answer of a dialog
            cancel=partial(done, False),  # noqa: FBT003
            focus=focus,
        )
        return make_panel(ui, TITLE, form, tuple, message=MESSAGE)

    names: list[str] | None = None
    is_accepted = await _accepts(ui, partial(build, 0), partial(preview, before))
    while is_accepted and batteries.selected.value == CHOOSE and names is None:
        names = await _choose_batteries(ui, is_new=is_new)
        if names is None:  # Escape goes back to the choices
            focus = choices.index(batteries)
            is_accepted = await _accepts(ui, partial(build, focus), partial(preview, before))
    if not is_accepted:
        ui.notify(f"Nothing was changed. {AGAIN}")
        return
    changes = {
        "theme": theme.selected.value,
        PERMISSIONS: approvals.selected.value,
        **_battery_changes(ui, batteries.selected.value, names or ()),
    }
    await _save(ui, changes)
    ui.notify(f"Saved in {short_folder(ui.host.agent_dir, ui.host.home)}. {AGAIN}")


async def _accepts(
    ui: Ui, build: Callable[[Callable[[bool], None]], Component], undo: Callable[[], None]
) -> bool:
    """Show the choices; returns whether they were accepted. Otherwise ``undo`` is called."""
    is_accepted = False
    try:
        is_accepted = await ui.show(build)
    finally:
        if not is_accepted:
            undo()
    return is_accepted


async def _save(ui: Ui, changes: dict[str, Any]) -> None:
    """Save what differs from the user's settings, and load the batteries."""
    settings = ui.port.settings
    new = {
        name: value
        for name, value in changes.items()
        if settings.layer("user", name.split(".")) != value
    }
    if not new:
        return
    with report_errors(ui), ui.working("Switching…"):
        await ui.port.extensions.switches.change(new)
    if new.get("batteries") == RECOMMENDED:
        for line in ui.port.extensions.missing_extra_notes():
            ui.notify(f"Left out: {line}", "warning")


# The choices --------------------------------------------------------------------------------------


def theme_choice(ui: Ui, current: str | None, *, is_new: bool) -> SetupChoice:
    """Return the choice of the theme; a home with settings and no theme keeps it that way."""
    names = theme_names(ui)
    follows = SetupValue(value=None, label=f"as the terminal: {ui.themes.current}")
    values = [follows, *(SetupValue(value=name, label=one_line(name)) for name in names)]
    initial = SYSTEM_THEME if is_new and current is None and SYSTEM_THEME in names else current
    return SetupChoice("Theme", values, initial)


def approval_choice(ui: Ui, *, is_new: bool) -> SetupChoice:
    """Return the choice of when pi asks."""
    values = [
        SetupValue(
            value=None,
            label="never",
            detail="Whatever the model calls runs at once, as in the original pi.",
        ),
        SetupValue(
            value="auto-edit",
            label="before commands that change something",
            detail="Edits of files in the project run, other changes ask; see /permissions.",
        ),
        SetupValue(
            value="ask",
            label="before every change",
            detail="Edits and commands ask; reading and searching do not.",
        ),
    ]
    current = value_at(ui.port.settings.raw, PERMISSIONS.split("."))
    current = None if current == "off" else current
    if current is not None and all(current != value.value for value in values):
        label = one_line(str(current))
        values.append(SetupValue(value=current, label=f"as now: {label}"))
    return SetupChoice("Approvals", values, "auto-edit" if is_new and current is None else current)


def battery_choice(ui: Ui, *, is_new: bool) -> SetupChoice:
    """Return the choice of the batteries."""
    infos = _recommended_extensions(ui)
    benefits = ", ".join(info.benefit or info.name for info in infos)
    values = [
        SetupValue(value=RECOMMENDED, label="recommended", detail=f"{benefits}."),
        SetupValue(
            value=None, label="none", detail="Only read, bash, edit and write, as the original."
        ),
        SetupValue(
            value=CHOOSE, label="choose", detail="A list follows; /extensions has the others."
        ),
    ]
    if is_new:
        return SetupChoice("Batteries", values, RECOMMENDED)
    current = ui.port.settings.raw.get("batteries")
    if current != RECOMMENDED and (names := _names_on(ui)):
        values.append(SetupValue(value=KEEP, label="as now", detail=f"{', '.join(names)}."))
        current = KEEP
    return SetupChoice("Batteries", values, current)


def _recommended_extensions(ui: Ui) -> list[ExtensionInfo]:
    infos = [info for info in ui.port.extensions.infos() if info.is_recommended]
    return sorted(infos, key=lambda info: info.name)


def _names_on(ui: Ui) -> list[str]:
    """The recommended batteries that are on."""
    rows = ui.port.extensions.switches.rows()
    return sorted(row.name for row in rows if row.recommended and row.group == "on")


async def _choose_batteries(ui: Ui, *, is_new: bool) -> list[str] | None:
    """Return the batteries that the user checks in a list; ``None`` after Escape."""
    infos = _recommended_extensions(ui)
    options = [Option(value=info.name, label=info.name, description=info.benefit) for info in infos]
    initial = [info.name for info in infos] if is_new else _names_on(ui)
    return await choose_several(ui, "Which batteries?", options, initial=initial)


def _battery_changes(ui: Ui, selected: str | None, names: Collection[str]) -> dict[str, Any]:
    """Return the settings for a value of the choice; ``names`` are the chosen batteries."""
    if selected == KEEP:
        return {}
    if selected == RECOMMENDED:
        return {"batteries": RECOMMENDED}
    changes: dict[str, Any] = {"batteries": None}
    for info in _recommended_extensions(ui):
        for name, value in info.recommended.items():
            stored = ui.port.settings.layer("user", name.split("."))
            if info.name in names:
                # What the user has configured, such as roles, stays.
                changes[name] = value if stored in (None, False) else stored
            elif stored == value:
                changes[name] = None
    return changes
