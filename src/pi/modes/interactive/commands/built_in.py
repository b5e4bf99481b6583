"""Every built-in command, as data, in the order of the menu.

What is typed is looked up here first. Whatever has another name goes to the session, which tries
commands of extensions, skills and templates, in this order, and else takes it as plain text.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from pi.base.fuzzy import rank
from pi.coding.models.patterns import full_name
from pi.modes.interactive.commands import conversation, models, passing_on, preferences, reporting
from pi.modes.interactive.commands.row import CommandRow
from pi.modes.interactive.dialogs.reference import Named, commands
from pi.modes.interactive.ui import Ui
from pi.tui.completion.commands import Command, CompleteArguments
from pi.tui.completion.provider import Suggestion
from pi.tui.widgets.markdown.widget import Markdown


def _model_names(ui: Ui) -> Sequence[str]:
    return [full_name(model) for model in ui.port.models.available()]


def _levels(ui: Ui) -> Sequence[str]:
    return ui.port.models.levels()


def _theme_names(ui: Ui) -> Sequence[str]:
    return ui.themes.names


async def _help(ui: Ui, arguments: str) -> None:
    listed = [
        Named(name=row.name, hint=row.hint, description=row.description)
        for row in BUILT_IN
        if row.listed
    ]
    ui.say(Markdown(commands(listed), theme=ui.theme.markdown))
    ui.notify("Keys are listed by /hotkeys.")


# One row is one line, so that the table can be read.
# fmt: off
BUILT_IN: tuple[CommandRow, ...] = tuple(
    CommandRow(name=name, hint=hint, description=description, run=run, **more)
    for name, hint, description, run, more in (
        ("settings", "", "change settings", preferences.settings, {}),
        ("theme", "[name]", "choose a theme", preferences.theme, {"complete": _theme_names}),
        ("model", "[provider/model]", "choose the model", models.model, {"complete": _model_names}),
        ("tree", "", "go to another point of the session", conversation.tree, {}),
        ("thinking", "[level]", "choose how much it thinks", models.thinking, {"complete": _levels}),
        ("scoped-models", "", "choose the models to cycle through", models.scoped_models, {}),
        ("export", "[path]", "write a page, or .jsonl, .md, .txt", passing_on.export, {}),
        ("import", "<path>", "take in a session file and go on", conversation.take_in, {}),
        ("share", "", "share as a private gist", passing_on.share, {}),
        ("bug", "[description]", "put together a bug report", reporting.bug, {}),
        ("copy", "", "copy the last answer", passing_on.copy, {}),
        ("dump", "", "copy the whole session as text", passing_on.dump, {}),
        ("name", "[name]", "name the session, or show its name", conversation.name, {}),
        ("session", "", "show what the session is", conversation.session, {}),
        ("usage", "", "show tokens and cost", conversation.usage, {}),
        ("changelog", "", "show what has changed", preferences.changelog, {}),
        ("hotkeys", "", "show all keys", preferences.hotkeys, {}),
        ("help", "", "show all commands", _help, {}),
        ("fork", "", "go on from a message in a new session", conversation.fork, {}),
        ("clone", "", "go on in a copy of this session", conversation.clone, {}),
        ("trust", "", "decide about this folder", preferences.trust, {}),
        ("login", "[provider]", "log in, or store a key", models.login, {}),
        ("logout", "[provider]", "forget a login or a key", models.logout, {}),
        ("new", "", "begin a new session", conversation.new, {}),
        ("compact", "[instructions]", "shorten the conversation now", conversation.compact, {}),
        ("resume", "", "go on with another session", conversation.resume, {}),
        ("reload", "", "read settings, skills, keys, themes again", preferences.reload, {}),
        ("quit", "", "leave", preferences.quit, {}),
        ("debug", "", "write what is shown to a file", reporting.debug, {"listed": False}),
    )
)
# fmt: on


class BuiltInCommands:
    """Implements ``Commands`` for one screen."""

    def __init__(self, ui: Ui, rows: Sequence[CommandRow] = BUILT_IN) -> None:
        self._ui = ui
        self._rows = {row.name: row for row in rows}

    def listed(self) -> list[Command]:
        """What the menu offers."""
        return [
            Command(
                name=row.name,
                description=row.description,
                hint=row.hint,
                complete=self._completing(row),
            )
            for row in self._rows.values()
            if row.listed
        ]

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """What runs a command; nothing if there is none of that name."""
        row = self._rows.get(name)
        return None if row is None else self._run(row, arguments.strip())

    async def _run(self, row: CommandRow, arguments: str) -> None:
        await row.run(self._ui, arguments)

    def _completing(self, row: CommandRow) -> CompleteArguments | None:
        offered = row.complete
        if offered is None:
            return None

        async def complete(typed: str) -> list[Suggestion]:
            return [Suggestion(value=word) for word in rank(typed, offered(self._ui))]

        return complete
