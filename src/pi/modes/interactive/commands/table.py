"""Every built-in command, as data, in the order of the menu.

What is typed is looked up here first. Whatever has another name goes to the session, which tries
commands of extensions, skills and templates, in this order; what is none of these is refused.

The commands of the original always win. All others yield: where a template, a skill or an extension
of the user has the same name, that one runs, and ours is ``/pi:NAME``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.extension_host.contributions.commands import BUILT_IN as RESERVED
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.panel import shown_key, summarise_message
from pi.modes.interactive.ui import Ui
from pi.tui.completion.provider import Suggestion
from pi.tui.completion.sources import Command, CompleteArguments

# What is known of a command.


Handler: TypeAlias = Callable[[Ui, str], Awaitable[None]]
"""Runs a command with what was typed behind its name; a ``PiError`` is told in one line."""

Complete: TypeAlias = Callable[[Ui], Sequence[str] | Sequence[Suggestion]]
"""What the argument could be."""


class CommandRow(Record):
    """One command of the application."""

    name: str
    description: str
    run: Handler | None = None
    hint: str = ""
    """What may follow the name, e.g. ``[path]``."""
    complete: Complete | None = None
    listed: bool = True
    """Whether the menu shows it."""
    prompt: str = ""
    """A prompt for the model that the command stands for, in place of ``run``."""
    yields: bool = False
    """Whether a command of the same name of the user or of an extension takes its place."""
    needs_run_here: bool = False
    """Whether only whoever runs the session can do it, not somebody to whom it is shown."""

    def is_offered(self, ui: Ui) -> bool:
        """Whether the menu shows it in the session that there is."""
        return self.listed and (not self.needs_run_here or ui.port.facts.runs_here)


# Prompts that ``/init`` and ``/review`` stand for.


INIT = """\
Draft an AGENTS.md for this project: the file that coding agents read before they work here.

1. Look at the project first: README, build and package files, CI configuration, the layout of the \
source and of the tests. If there is an AGENTS.md or a CLAUDE.md already, improve it instead of \
replacing it, and keep what its authors wrote on purpose.
2. Write only what an agent cannot guess: the commands to build, run, lint and test (also one test \
alone), the structure in a few lines, conventions that the code really follows, and traps.
3. Run a command before you recommend it, where that is safe and quick. Do not invent anything.
4. Keep it below about 100 lines, in plain Markdown, and show me what you have written."""

REVIEW = """\
Review the changes in this working copy, as a careful colleague would. Change no file.

1. Find out what has changed: `git status`, then the diff of staged and unstaged changes and new \
files. If there are none, review the last commit. If something else is named below, review that.
2. Read enough of the surrounding code to judge the changes.
3. Report what you found, the most serious first: bugs, lost data, security, behaviour that \
contradicts the documentation or the tests, missing tests; then what is hard to read. For each, \
name the file and the line, say what goes wrong and when, and propose a fix.
4. Leave out praise and matters of taste. If there is nothing to report, say so."""


_OF_WHOEVER_RUNS_IT = {"model", "tree", "branch", "thinking", "scoped-models", "name", "compact"}
"""What nobody can do to a session that is only shown to them."""
OWN = "pi:"
"""Names a built-in command, whatever else has its name."""


def _model_names(ui: Ui) -> Sequence[str]:
    return [full_name(model) for model in ui.port.models.available()]


def _levels(ui: Ui) -> Sequence[str]:
    return ui.port.models.levels()


def _providers(ui: Ui) -> Sequence[str]:
    return list(dict.fromkeys(model.provider for model in ui.port.models.known()))


def _message_ids(ui: Ui) -> Sequence[Suggestion]:
    """What can be forked from, the latest first."""
    return [
        Suggestion(value=point.entry_id, description=one_line(summarise_message(point.text)))
        for point in reversed(ui.port.facts.fork_points())
    ]


def _theme_names(ui: Ui) -> Sequence[str]:
    return ui.themes.names


def _row(
    name: str,
    hint: str,
    description: str,
    handler: str = "",
    *,
    complete: Complete | None = None,
    listed: bool = True,
    prompt: str = "",
) -> CommandRow:
    return CommandRow(
        name=name,
        hint=hint,
        description=description,
        run=_loaded(handler) if handler else None,
        complete=complete,
        listed=listed,
        prompt=prompt,
        yields=name not in RESERVED,
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
    _row("settings", "", "change settings", "application.settings"),
    _row("theme", "[name]", "choose a theme", "application.theme", complete=_theme_names),
    _row("model", "[provider/model]", "choose the model", "models.model", complete=_model_names),
    _row("tree", "", "go to another point of the session", "session.tree"),
    _row("thinking", "[level]", "choose how much it thinks", "models.thinking", complete=_levels),
    _row("scoped-models", "", "choose the models to cycle through", "models.scoped_models"),
    _row("export", "[path]", "write a page, or .jsonl, .md, .txt", "session.export"),
    _row("import", "<path>", "take in a session file and go on", "session.import_session"),
    _row("share", "", "share as a private gist", "session.share"),
    _row("bug", "[description]", "put together a bug report", "application.bug"),
    _row("copy", "", "copy the last answer", "session.copy"),
    _row("dump", "", "copy the whole session as text", "session.dump"),
    _row("name", "[name]", "name the session, or show its name", "session.name"),
    _row("session", "", "show what the session is", "session.session"),
    _row("usage", "", "show tokens and cost", "session.usage"),
    _row("changelog", "", "show what has changed", "application.changelog"),
    _row("hotkeys", "", "show all keys", "application.hotkeys"),
    _row("help", "", "show all commands", "application.help"),
    _row("fork", "[message-id]", "go on from a message in a new session", "session.fork",
         complete=_message_ids),
    _row("branch", "[message-id]", "go back to a message, as two Escapes do", "session.branch",
         complete=_message_ids),
    _row("clone", "", "go on in a copy of this session", "session.clone"),
    _row("extensions", "", "show the extensions", "application.extensions"),
    _row("trust", "", "decide about this folder", "application.trust"),
    _row("login", "[provider]", "log in, or store a key", "models.login", complete=_providers),
    _row("logout", "[provider]", "forget a login or a key", "models.logout"),
    _row("new", "", "begin a new session", "session.new"),
    _row("compact", "[instructions]", "shorten the conversation now", "session.compact"),
    _row("resume", "", "go on with another session", "session.resume"),
    _row("reload", "", "read settings, skills, keys, themes again", "application.reload"),
    _row("quit", "", "leave", "application.quit"),
    _row("clear", "", "the same as /new", "session.new"),
    _row("exit", "", "the same as /quit", "application.quit"),
    _row("context", "", "the same as /usage", "session.usage"),
    _row("doctor", "", "check the installation, as `pi doctor` does", "application.doctor"),
    _row("init", "[wishes]", "have the model draft AGENTS.md", prompt=INIT),
    _row("review", "[what]", "have the model review the changes", prompt=REVIEW),
    _row("debug", "", "write what is shown to a file", "application.debug", listed=False),
)
# fmt: on


class BuiltInCommands:
    """Implements ``Commands`` for one screen."""

    def __init__(self, ui: Ui, rows: Sequence[CommandRow] = BUILT_IN) -> None:
        self._ui = ui
        self._rows = {row.name: row for row in rows}

    def listed(self) -> list[Command]:
        """What the menu offers; a command that yields is listed under its longer name."""
        taken = self._taken()
        return [
            Command(
                name=f"{OWN}{row.name}" if row.yields and row.name in taken else row.name,
                description=row.description,
                hint=row.hint,
                complete=self._completing(row),
            )
            for row in self._rows.values()
            if row.is_offered(self._ui)
        ]

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """What runs a command; nothing if there is none of that name."""
        row = self._row(name)
        if row is None or row.run is None:
            return None
        return self._run(row.run, arguments.strip())

    def prompt(self, name: str, arguments: str) -> str | None:
        """The prompt that a command stands for; nothing if it stands for none."""
        row = self._row(name)
        if row is None or not row.prompt:
            return None
        return f"{row.prompt}\n\n{arguments.strip()}".rstrip()

    def _row(self, name: str) -> CommandRow | None:
        if name.startswith(OWN):
            return self._rows.get(name.removeprefix(OWN))
        row = self._rows.get(name)
        return None if row is not None and row.yields and name in self._taken() else row

    def _taken(self) -> set[str]:
        """Names of commands that the session has."""
        return {command.name for command in self._ui.port.facts.commands()}

    async def _run(self, handler: Handler, arguments: str) -> None:
        await handler(self._ui, arguments)

    def _completing(self, row: CommandRow) -> CompleteArguments | None:
        offered = row.complete
        if offered is None:
            return None

        async def complete(typed: str) -> list[Suggestion]:
            words = (
                word if isinstance(word, Suggestion) else Suggestion(value=word)
                for word in offered(self._ui)
            )
            return rank(typed, words, key=_searched)

        return complete


def _searched(suggestion: Suggestion) -> str:
    return f"{suggestion.value} {suggestion.description}".rstrip()


# What cannot be done while the agent is at work.


def require_idle(ui: Ui) -> None:
    """Say no with a ``PiError``, and with what to do about it, while an answer is coming."""
    if ui.port.facts.state().is_streaming:
        stop = " or ".join(map(shown_key, ui.keymap.keys("app.interrupt")))
        ways = f"Wait for the answer, or stop it with {stop}." if stop else "Wait for the answer."
        raise PiError("The agent is at work.", hint=ways)
