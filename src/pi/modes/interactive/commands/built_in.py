"""Every built-in command, as data, in the order of the menu.

What is typed is looked up here first. Whatever has another name goes to the session, which tries
commands of extensions, skills and templates, in this order, and else takes it as plain text.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from importlib import import_module
from typing import Any

from pi.base.fuzzy import rank
from pi.coding.models.patterns import full_name
from pi.modes.interactive.commands.row import CommandRow, Complete, Handler
from pi.modes.interactive.ui import Ui
from pi.tui.completion.commands import Command, CompleteArguments
from pi.tui.completion.provider import Suggestion

_OF_WHOEVER_RUNS_IT = {"model", "tree", "thinking", "scoped-models", "name", "compact"}
"""What nobody can do to a session that is only shown to them."""


def _model_names(ui: Ui) -> Sequence[str]:
    return [full_name(model) for model in ui.port.models.available()]


def _levels(ui: Ui) -> Sequence[str]:
    return ui.port.models.levels()


def _providers(ui: Ui) -> Sequence[str]:
    return list(dict.fromkeys(model.provider for model in ui.port.models.known()))


def _theme_names(ui: Ui) -> Sequence[str]:
    return ui.themes.names


def _row(
    name: str,
    hint: str,
    description: str,
    handler: str,
    *,
    complete: Complete | None = None,
    listed: bool = True,
) -> CommandRow:
    return CommandRow(
        name=name,
        hint=hint,
        description=description,
        run=_loaded(handler),
        complete=complete,
        listed=listed,
        needs_run_here=name in _OF_WHOEVER_RUNS_IT,
    )


def _loaded(handler: str) -> Handler:
    """Runs ``module.function`` of this package, which is imported only then.

    Dialogs are many, and most sessions open few of them.
    """
    module, name = handler.split(".")

    async def run(ui: Ui, arguments: str) -> None:
        found: Handler = getattr(import_module(f"{__package__}.{module}"), name)
        await found(ui, arguments)

    return run


# One row is one line, so that the table can be read.
# fmt: off
BUILT_IN: tuple[CommandRow, ...] = (
    _row("settings", "", "change settings", "preferences.settings"),
    _row("theme", "[name]", "choose a theme", "preferences.theme", complete=_theme_names),
    _row("model", "[provider/model]", "choose the model", "models.model", complete=_model_names),
    _row("tree", "", "go to another point of the session", "conversation.tree"),
    _row("thinking", "[level]", "choose how much it thinks", "models.thinking", complete=_levels),
    _row("scoped-models", "", "choose the models to cycle through", "models.scoped_models"),
    _row("export", "[path]", "write a page, or .jsonl, .md, .txt", "passing_on.export"),
    _row("import", "<path>", "take in a session file and go on", "conversation.take_in"),
    _row("share", "", "share as a private gist", "passing_on.share"),
    _row("bug", "[description]", "put together a bug report", "reporting.bug"),
    _row("copy", "", "copy the last answer", "passing_on.copy"),
    _row("dump", "", "copy the whole session as text", "passing_on.dump"),
    _row("name", "[name]", "name the session, or show its name", "conversation.name"),
    _row("session", "", "show what the session is", "conversation.session"),
    _row("usage", "", "show tokens and cost", "conversation.usage"),
    _row("changelog", "", "show what has changed", "preferences.changelog"),
    _row("hotkeys", "", "show all keys", "preferences.hotkeys"),
    _row("help", "", "show all commands", "preferences.help"),
    _row("fork", "", "go on from a message in a new session", "conversation.fork"),
    _row("clone", "", "go on in a copy of this session", "conversation.clone"),
    _row("extensions", "", "show the extensions", "extensions.extensions"),
    _row("trust", "", "decide about this folder", "preferences.trust"),
    _row("login", "[provider]", "log in, or store a key", "models.login", complete=_providers),
    _row("logout", "[provider]", "forget a login or a key", "models.logout"),
    _row("new", "", "begin a new session", "conversation.new"),
    _row("compact", "[instructions]", "shorten the conversation now", "conversation.compact"),
    _row("resume", "", "go on with another session", "conversation.resume"),
    _row("reload", "", "read settings, skills, keys, themes again", "preferences.reload"),
    _row("quit", "", "leave", "preferences.quit"),
    _row("debug", "", "write what is shown to a file", "reporting.debug", listed=False),
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
            if row.is_offered(self._ui)
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
