"""Opens the session of the interactive mode; questions are shown on the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pi.base.errors import PiError
from pi.base.records import replace
from pi.cli.arguments import OPENS_STORED, Arguments, UsageError
from pi.cli.crashes import redact_crash
from pi.cli.first_prompt import AttachedFiles, build_prompts
from pi.cli.loaded_options import ExtensionNotLoaded, start_session
from pi.cli.requested_session import OpenCancelled, SessionResolver
from pi.cli.session_setup import session_options, verbose_report, warnings
from pi.cli.theme_files import session_themes
from pi.coding.models.registry import full_name
from pi.coding.runtime.assemble import AssembledSession, assemble
from pi.coding.runtime.local_tools import environment_of_programs
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.coding.runtime.session_places import session_dir_from_environ
from pi.coding.session.errors import DirectoryGone, SessionInUse
from pi.coding.settings.files import BadSettings
from pi.coding.settings.settings import Settings
from pi.modes.headless import PromptInput
from pi.modes.interactive.startup import OpenContext, OpenedSession, StartRefused
from pi.modes.interactive.status.footer import short_folder
from pi.modes.phases import phase
from pi.version import __version__

if TYPE_CHECKING:
    from pi.ai.models.model import Model
    from pi.modes.interactive.ui import Ui


HINT = "To resume this session: pi --session {id}"
LOSS = "The session could not be saved completely."

Chosen: TypeAlias = tuple[AssembledSession, SessionResolver]
"""A session, and the resolver that found its file."""


async def open_session(
    arguments: Arguments,
    environ: Mapping[str, str],
    opening: OpenContext,
    when_ready: Callable[[], None],
) -> OpenedSession:
    """Open the session of a command line. ``when_ready`` is called after everything is loaded."""
    cwd, host = Path.cwd(), Machine.from_environ(environ, report=opening.report)
    files = AttachedFiles(cwd, host.home)

    async def prompts_of(arguments: Arguments) -> Sequence[PromptInput]:
        return build_prompts(arguments.prompts, await files.read(arguments.files), "")

    for warning in warnings(arguments):
        opening.report(warning)
    prompts = await prompts_of(arguments)
    from pi.modes.interactive.welcome import is_new_home  # deferred: with the session

    # Looked for before the session is opened: opening may create files.
    session_dir = session_dir_from_environ(host, cwd, arguments.options.get("session_dir"))
    is_new = is_new_home(host.agent_dir, session_dir)
    with phase("session:open"):
        built, choice = await _open_or_fork(arguments, host, cwd, opening)
    if arguments.unresolved_words:
        arguments = await _resolve_flags(arguments, built)
        prompts = await prompts_of(arguments)
    if choice.must_pick and (value := arguments.text("resume")):
        # The value matches no session, so it is the first prompt of the one that is picked.
        prompts = await prompts_of(replace(arguments, messages=(value, *arguments.messages)))
    when_ready()
    if environ.get("PI_TIMING") == "x":
        opening.ui.quit()  # only the start-up was requested
    return CommandLineSession(built, choice, host, arguments, cwd, prompts, is_new_home=is_new)


class CommandLineSession(OpenedSession):
    """The session that the command line selects."""

    def __init__(
        self,
        built: AssembledSession,
        choice: SessionResolver,
        host: Machine,
        arguments: Arguments,
        cwd: Path,
        prompts: Sequence[PromptInput],
        *,
        is_new_home: bool,
    ) -> None:
        super().__init__(
            built.session,
            host,
            lines=tuple(_startup_lines(built, host.home, verbose="verbose" in arguments.options)),
            note=built.note,
            messages=tuple((prompt.text, prompt.images) for prompt in prompts),
            command="resume" if choice.must_pick else "",
        )
        self._report = host.report
        self._is_new_home = is_new_home
        self._session = built.session
        self._choice = choice
        self._arguments = arguments
        self._cwd = cwd
        models = built.session.models
        self._requested_model: Model | None = None
        self._requested_level = session_options(arguments).thinking
        if "model" in arguments.options or "provider" in arguments.options:
            self._requested_model = models.current
            self._requested_level = models.thinking_level

    def themes(self) -> list[Path]:
        """Return the theme files of this session, by precedence."""
        session = self._session
        return session_themes(
            self._arguments,
            session.workspace,
            self.host,
            cwd=self._cwd,
            of_extensions=session.extensions.hosting.theme_paths,
        )

    async def begin(self) -> None:
        """Emit the start event of the session."""
        try:
            await start_session(self._arguments, self._session, self._report)
        except (ExtensionNotLoaded, UsageError) as error:
            raise StartRefused(error.message, hint=error.hint) from error

    async def welcome(self, ui: Ui) -> None:
        """Show the dialogs of a first start, and a warning about extra costs.

        A subcommand such as ``pi join`` shows neither: a guest needs no model of its own.
        """
        if self._arguments.command:
            return
        # Deferred: not needed before the first frame.
        from pi.modes.interactive.welcome import warn_about_extra_billing, welcome

        await welcome(
            ui,
            __version__,
            is_new=self._is_new_home,
            shows_setup="setup" in self._arguments.options,
            has_extensions="no_extensions" not in self._arguments.options,
        )
        await warn_about_extra_billing(ui)

    async def picked(self) -> None:
        """Apply the model, thinking level and name of the command line to the picked session.

        A session that ``-r`` finds by its id gets them while it is opened.
        """
        models, name = self._session.models, self._arguments.text("name")
        model, level = self._requested_model, self._requested_level
        if model is not None and models.current != model:
            await models.use(model, thinking=level, source="set")
        if level is not None:
            await models.set_thinking_level(level)
        if name is not None:
            await self._session.info.rename(name)

    async def news(self) -> str:
        """Return a notice about a newer version; the index is queried at most once a day."""
        from pi.cli.update_check import UpdateCheck  # deferred: runs after the start

        check = UpdateCheck(self.host)
        await check.look()
        return check.notice()

    async def refresh(self) -> None:
        """Update the model catalog, at most once a day."""
        from pi.cli.catalog_refresh import refresh_catalog  # deferred: runs after the start

        session = self._session
        values = session.settings.values.catalog
        await refresh_catalog(session.models.registry.models, self.host, values)

    def leave(self) -> str:
        """Record the session for ``--continue``; returns the lines to print at exit."""
        log = self._session.entries.log
        # --continue should not open the local copy of a remote session.
        log_file = None if log.replica else log.file
        self._choice.remember(log_file, self._session.cwd, self.host.clock)
        lines = [LOSS] if log.problem is not None else []
        if log.file is not None and log.is_saved:
            lines.append(HINT.format(id=log.header.id))
        return "\n".join(lines)


async def _open_or_fork(
    arguments: Arguments, host: Machine, cwd: Path, opening: OpenContext
) -> Chosen:
    """Open the session; if another process has it open, offer a fork of it."""
    try:
        return await _open_with_questions(arguments, host, cwd, opening)
    except SessionInUse as busy:
        from pi.modes.interactive.dialogs.opening import (
            ask_fork_busy_session,
        )  # deferred: rarely needed

        if not await ask_fork_busy_session(opening.ui, busy):
            raise OpenCancelled("") from busy
        return await _open_with_answers(_as_fork(arguments, busy.path), host, cwd, opening)


def _as_fork(arguments: Arguments, path: Path) -> Arguments:
    """Return the arguments with a fork of a session file instead of what they open."""
    others = {name: value for name, value in arguments.options.items() if name not in OPENS_STORED}
    return replace(arguments, options={**others, "fork": str(path)})


async def _open_with_questions(
    arguments: Arguments, host: Machine, cwd: Path, opening: OpenContext
) -> Chosen:
    """Open the session; ask open questions on the screen, then start again with the answers."""
    try:
        return await _open_in_folder(arguments, host, cwd, opening)
    except _Unanswered as unanswered:
        from pi.modes.interactive.dialogs.questions import confirm  # deferred: rarely needed

        title, _, question = str(unanswered).partition("\n")
        message = question.removesuffix("[y/N] ").strip()
        answer = await confirm(opening.ui, title, message, default=False)
        return await _open_in_folder(arguments, host, cwd, opening, answers=[answer])


async def _open_in_folder(
    arguments: Arguments,
    host: Machine,
    cwd: Path,
    opening: OpenContext,
    *,
    answers: Sequence[bool] = (),
) -> Chosen:
    """Open the session; if its folder is missing, offer the current folder."""
    try:
        return await _open_with_answers(arguments, host, cwd, opening, answers=answers)
    except DirectoryGone as gone:
        # Lazy: rarely needed.
        from pi.modes.interactive.dialogs.opening import ask_about_missing_folder

        answer = await ask_about_missing_folder(opening.ui, gone.stored, str(cwd))
        if answer is None:
            raise OpenCancelled("") from gone
        if answer == "fork" and gone.path is not None:
            forking = _as_fork(arguments, gone.path)
            return await _open_with_answers(forking, host, cwd, opening, answers=answers)
        return await _open_with_answers(
            arguments, host, cwd, opening, answers=answers, stays_if_gone=True
        )


async def _open_with_answers(
    arguments: Arguments,
    host: Machine,
    cwd: Path,
    opening: OpenContext,
    *,
    answers: Sequence[bool] = (),
    stays_if_gone: bool = False,
) -> Chosen:
    """Open the session with the known answers to the questions of the resolver."""
    choice = SessionResolver(
        arguments,
        host.environ,
        agent_dir=host.agent_dir,
        confirm=_confirm_from(answers),
        can_pick=True,
    )
    parts = SessionOverrides(
        open_log=choice.open,
        reads_log=choice.reads_stored,
        session_dir=session_dir_from_environ(host, cwd, arguments.options.get("session_dir")),
        persistent="no_session" not in arguments.options,
        stays_if_gone=stays_if_gone,
        ask_trust=opening.ask_trust,
        mode="tui",
        ui=opening.extension_ui,
        on_stall=opening.on_stall,
    )
    options, name = session_options(arguments), None
    if "resume" in arguments.options:
        # Named below or after the choice: the session that is shown until then is not kept.
        options, name = replace(options, name=None), options.name
    built = await _assemble_or_ask(cwd, host, options, parts, opening)
    if name is not None and not choice.must_pick:
        await built.session.info.rename(name)
    redact_crash(partial(built.session.extensions.redacted, sink="log"))
    return built, choice


async def _assemble_or_ask(
    cwd: Path,
    host: Machine,
    options: SessionOptions,
    parts: SessionOverrides,
    opening: OpenContext,
) -> AssembledSession:
    """Build the session; ask what to do about settings that cannot be read, until they can."""
    while True:
        try:
            return await assemble(cwd, host, options, parts)
        except BadSettings as error:
            # Deferred: rarely needed.
            from pi.modes.interactive.dialogs.opening import ask_about_settings

            match await ask_about_settings(opening.ui, error):
                case "edit":
                    environ = environment_of_programs(host, Settings())
                    await opening.ui.edit_file(error.path, environ)
                case "strictest":
                    options = replace(options, unreadable_settings="strictest")
                case None:
                    raise OpenCancelled("") from error


class _Unanswered(Exception):
    """A question has to be shown to the user first."""


def _confirm_from(answers: Sequence[bool]) -> Callable[[str], bool]:
    """Return a function that returns ``answers`` in order, then raises ``_Unanswered``."""
    remaining_answers = iter(answers)

    def confirm(question: str) -> bool:
        for answer in remaining_answers:
            return answer
        raise _Unanswered(question)

    return confirm


async def _resolve_flags(arguments: Arguments, built: AssembledSession) -> Arguments:
    """Return the arguments parsed with the flags of extensions."""
    from pi.cli.extension_options import (
        resolve_options,
    )  # deferred: most command lines have no such flags

    try:
        return resolve_options(arguments, built.session.extensions.flags())
    except PiError:
        await built.session.close()
        raise


def _startup_lines(built: AssembledSession, home: Path, *, verbose: bool) -> list[str]:
    """Return the start-up text: the full report, or two lines.

    The first line has version, model and folder, the second the loaded resources.
    """
    if verbose:
        return list(verbose_report(built))
    if built.session.settings.values.quiet_startup == "header":
        return [f"pi {__version__} · /help for commands"]
    resources = built.session.workspace.resources
    parts = [Path(file.path).name for file in resources.context.files]
    for number, noun in (
        (len(resources.skills), "skill"),
        (len(resources.prompts), "prompt template"),
    ):
        if number:
            parts.append(f"{number} {noun}{'s' * (number != 1)}")
    model = built.session.models.current
    named = full_name(model) if model is not None else "no model yet"
    folder = short_folder(built.session.cwd, home)
    started = " · ".join([f"pi {__version__}", named, folder])
    return [started, " · ".join([*parts, "/help for commands"])]
