"""Every built-in command as data, in the order of the menu.

Input is looked up here first. Other names go to the session, which tries commands of extensions,
skills and templates, in this order, and rejects unknown ones.

The commands of the original always take precedence. All others yield: if a template, a skill or an
extension of the user has the same name, that one runs, and the built-in one is ``/pi:NAME``.
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
from pi.coding.extension_host.contributions.commands import OWN
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.dialogs.panel import summarise_message
from pi.modes.interactive.ui import Ui
from pi.tui.completion.provider import Suggestion
from pi.tui.completion.sources import Command, CompleteArguments
from pi.tui.widgets.editor.history import MAX_HISTORY_ENTRIES

# Records ------------------------------------------------------------------------------------------


Handler: TypeAlias = Callable[[Ui, str], Awaitable[None]]
"""Runs a command with its arguments; a ``PiError`` is shown in one line."""

Complete: TypeAlias = Callable[[Ui], Sequence[str] | Sequence[Suggestion]]
"""Completes the argument."""


class CommandRow(Record):
    """One command of the application."""

    name: str
    description: str
    run: Handler | None = None
    hint: str = ""
    """The argument, e.g. ``[path]``."""
    complete: Complete | None = None
    listed: bool = True
    """Whether the menu shows it."""
    prompt: str = ""
    """A prompt that the command sends to the model, instead of ``run``."""
    yields: bool = False
    """Whether a command of the user or of an extension with the same name takes precedence."""
    needs_run_here: bool = False
    """Whether it needs a session that runs in this process, not one that is only shown."""

    def is_offered(self, ui: Ui) -> bool:
        """Whether the menu shows it in the current session."""
        return self.listed and (not self.needs_run_here or ui.port.info.runs_here)


# Prompts of /init and /review ---------------------------------------------------------------------


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


_NEEDS_LOCAL_RUN = {"model", "tree", "branch", "thinking", "scoped-models", "name", "compact"}
"""Commands that are not available for a session that is only shown."""


def _model_names(ui: Ui) -> Sequence[str]:
    return [full_name(model) for model in ui.port.models.registry.get_available()]


def _levels(ui: Ui) -> Sequence[str]:
    return ui.port.models.levels()


def _providers(ui: Ui) -> Sequence[str]:
    return list(dict.fromkeys(model.provider for model in ui.port.models.registry.get_all()))


def _message_ids(ui: Ui) -> Sequence[Suggestion]:
    """Return the messages that can be forked from, the latest first.

    The last ones only, if the rest of a long session was not read yet.
    """
    most = MAX_HISTORY_ENTRIES if ui.port.info.has_unread_history else None
    return [
        Suggestion(value=point.entry_id, description=one_line(summarise_message(point.text)))
        for point in reversed(ui.port.info.fork_points(most))
    ]


def _share_targets(ui: Ui) -> Sequence[Suggestion]:
    """Return the share targets of extensions."""
    return [
        Suggestion(value=name, description=one_line(text))
        for name, text in ui.port.exports.targets()
    ]


def _compact_options(ui: Ui) -> Sequence[Suggestion]:
    """Return the strategies, and the preview."""
    strategies = ui.port.compaction.strategies()
    named = [
        Suggestion(value=f"strategy:{name}", description=one_line(text))
        for name, text in strategies.items()
        if name != "off"
    ]
    return [Suggestion(value="--preview", description="show what is dropped and kept"), *named]


def _theme_names(ui: Ui) -> Sequence[str]:
    return ui.themes.names


def _extension_switches(ui: Ui) -> Sequence[str]:
    names = [info.name for info in ui.port.extensions.infos() if info.switch]
    return [f"{state} {name}" for state in ("on", "off") for name in names]


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
        run=_deferred(handler) if handler else None,
        complete=complete,
        listed=listed,
        prompt=prompt,
        yields=name not in RESERVED,
        needs_run_here=name in _NEEDS_LOCAL_RUN,
    )


def _deferred(handler: str) -> Handler:
    """Return a function that imports ``module.function`` of this package on first use.

    Most sessions open few of the many dialogs.
    """
    module, name = handler.split(".")

    async def run(ui: Ui, arguments: str) -> None:
        handler: Handler = getattr(import_module(f"{__package__}.{module}"), name)
        await handler(ui, arguments)

    return run


# One row is one line, so that the table can be read.
# fmt: off
BUILT_IN: tuple[CommandRow, ...] = (
    _row("settings", "", "change settings", "application.settings"),
    _row("theme", "[name]", "choose a theme", "application.theme", complete=_theme_names),
    _row("model", "[provider/model]", "choose the model", "models.model", complete=_model_names),
    _row("tree", "", "go to another point of the session", "session.tree"),
    _row("thinking", "[level]", "choose the thinking level", "models.thinking", complete=_levels),
    _row("scoped-models", "", "choose the models to cycle through", "models.scoped_models"),
    _row("export", "[path]", "export as .html, .jsonl, .md, .txt or .atif.json", "sharing.export"),
    _row(
        "import",
        "<path or agent>",
        "import a session file and open it, or histories of claude or codex",
        "session.import_session",
    ),
    _row("share", "[target]", "share as a private gist", "sharing.share", complete=_share_targets),
    _row("bug", "[description]", "write a bug report", "diagnostics.bug"),
    _row("copy", "", "copy the last answer", "sharing.copy"),
    _row("dump", "", "copy the whole session as text", "sharing.dump"),
    _row("name", "[name]", "name the session, or show its name", "session.name"),
    _row("session", "", "show session information", "session.session"),
    _row("usage", "", "show tokens and cost", "session.usage"),
    _row("changelog", "", "show the changelog", "application.changelog"),
    _row("hotkeys", "", "show all keys", "application.hotkeys"),
    _row("help", "", "show all commands", "application.help"),
    _row("fork", "[message-id]", "fork a new session from a message", "session.fork",
         complete=_message_ids),
    _row("branch", "[message-id]", "go back to a message, like double Escape", "session.branch",
         complete=_message_ids),
    _row("clone", "", "continue in a copy of this session", "session.clone"),
    _row("extensions", "[on or off NAME]", "show or switch extensions", "extensions.extensions",
         complete=_extension_switches),
    _row("trust", "", "trust or distrust this folder", "application.trust"),
    _row("login", "[provider]", "log in or store an API key", "models.login", complete=_providers),
    _row("logout", "[provider]", "remove a login or an API key", "models.logout"),
    _row("new", "", "start a new session", "session.new"),
    _row("compact", "[strategy:NAME] [instructions]", "compact the conversation now",
         "session.compact", complete=_compact_options),
    _row("resume", "", "resume another session", "session.resume"),
    _row("reload", "", "reload settings, skills, keys, themes", "application.reload"),
    _row("quit", "", "leave", "application.quit"),
    _row("clear", "", "alias of /new", "session.new"),
    _row("exit", "", "alias of /quit", "application.quit"),
    _row("context", "", "show what fills the window of the model", "session.context"),
    _row("doctor", "", "check the installation, like `pi doctor`", "diagnostics.doctor"),
    _row("init", "[instructions]", "ask the model to draft AGENTS.md", prompt=INIT),
    _row("review", "[target]", "ask the model to review the changes", prompt=REVIEW),
    _row("debug", "", "write the screen content to a file", "diagnostics.debug", listed=False),
)
# fmt: on


class BuiltInCommands:
    """Implements ``Commands`` for one screen."""

    def __init__(self, ui: Ui, rows: Sequence[CommandRow] = BUILT_IN) -> None:
        self._ui = ui
        self._rows = {row.name: row for row in rows}

    def listed(self) -> list[Command]:
        """Return the menu; a command whose name the session uses is listed as ``pi:NAME``."""
        session_names = self._session_names()
        return [
            Command(
                name=f"{OWN}{row.name}" if row.yields and row.name in session_names else row.name,
                description=row.description,
                hint=row.hint,
                complete=self._argument_completer(row),
            )
            for row in self._rows.values()
            if row.is_offered(self._ui)
        ]

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """Return the coroutine that runs a command; ``None`` if unknown, or if it has a prompt."""
        row = self._row(name)
        if row is None or row.run is None:
            return None
        if row.needs_run_here and not self._ui.port.info.runs_here:
            return self._run(_refuse_elsewhere(row.name), arguments.strip())
        return self._run(row.run, arguments.strip())

    def prompt(self, name: str, arguments: str) -> str | None:
        """Return the prompt of a command, or ``None``."""
        row = self._row(name)
        if row is None or not row.prompt:
            return None
        return f"{row.prompt}\n\n{arguments.strip()}".rstrip()

    def _row(self, name: str) -> CommandRow | None:
        if name.startswith(OWN):
            return self._rows.get(name.removeprefix(OWN))
        row = self._rows.get(name)
        return None if row is not None and row.yields and name in self._session_names() else row

    def _session_names(self) -> set[str]:
        """Names of the commands of the session."""
        return {command.name for command in self._ui.port.info.commands()}

    async def _run(self, handler: Handler, arguments: str) -> None:
        await handler(self._ui, arguments)

    def _argument_completer(self, row: CommandRow) -> CompleteArguments | None:
        offered = row.complete
        if offered is None:
            return None

        async def complete(typed: str) -> list[Suggestion]:
            suggestions = (
                word if isinstance(word, Suggestion) else Suggestion(value=word)
                for word in offered(self._ui)
            )
            return rank(typed, suggestions, key=_search_text)

        return complete


def _search_text(suggestion: Suggestion) -> str:
    return f"{suggestion.value} {suggestion.description}".rstrip()


def _refuse_elsewhere(name: str) -> Handler:
    """Return a handler that refuses a command before it offers a choice."""

    async def refuse(ui: Ui, arguments: str) -> None:
        raise PiError(
            f"/{name} works only where the session runs: at its host.",
            hint="Start or resume a session of your own with /new or /resume.",
        )

    return refuse


def require_idle(ui: Ui) -> None:
    """Raise ``PiError`` with a hint while the agent is running."""
    if ui.port.info.state().is_streaming:
        stop = " or ".join(map(shown_key, ui.keymap.keys("app.interrupt")))
        hint = f"Wait for the answer, or stop it with {stop}." if stop else "Wait for the answer."
        raise PiError("Not available while the agent is running.", hint=hint)
