"""The session of the interactive mode, opened behind the screen: questions are asked on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pi import __version__
from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.base.records import replace
from pi.cli.arguments import Arguments
from pi.cli.command_context import named_session_dir
from pi.cli.session_setup import (
    KEPT,
    OpenCancelled,
    SessionResolver,
    build_prompts,
    session_options,
    warnings,
)
from pi.coding.resources.discovery import Selection
from pi.coding.resources.sources import is_file, is_folder, theme_files
from pi.coding.runtime.assemble import AssembledSession, assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOverrides
from pi.coding.runtime.workspace import Workspace
from pi.coding.session.errors import DirectoryGone, SessionInUse
from pi.coding.settings.settings import Settings
from pi.modes.headless import PromptInput
from pi.modes.interactive.startup import OpenContext, OpenedSession
from pi.modes.phases import phase

if TYPE_CHECKING:
    from pi.modes.interactive.ui import Ui


HINT = "To resume this session: pi --session {id}"
LOSS = "Not everything that was said could be saved."

Chosen: TypeAlias = tuple[AssembledSession, SessionResolver]
"""A session, and how its file was found."""


async def open_session(
    arguments: Arguments,
    environ: Mapping[str, str],
    opening: OpenContext,
    when_ready: Callable[[], None],
) -> OpenedSession:
    """What the command line asks for. ``when_ready`` is called once everything is loaded."""
    cwd, host = Path.cwd(), Machine.from_environ(environ, report=opening.report)

    def prompts_of(arguments: Arguments) -> Sequence[PromptInput]:
        return build_prompts(arguments.said, arguments.files, "", cwd=cwd, home=host.home)

    for warning in warnings(arguments):
        opening.report(warning)
    prompts = prompts_of(arguments)
    with phase("session:open"):
        built, choice = await _chosen(arguments, host, cwd, opening)
    if arguments.undecided:
        arguments = await _decided(arguments, built)
        prompts = prompts_of(arguments)
    if choice.must_pick and (value := arguments.text("resume")):
        # It names no session, so it is what to say in the one that is picked.
        prompts = prompts_of(replace(arguments, messages=(value, *arguments.messages)))
    when_ready()
    if environ.get("PI_TIMING") == "x":
        opening.ui.quit()  # only the start was wanted
    return OpenedSession(
        port=built.session,
        host=host,
        lines=tuple(_lines(built, verbose=arguments.switch("verbose"))),
        note=built.note,
        themes=lambda: _themes(arguments, built, host, cwd),
        messages=tuple((prompt.text, prompt.images) for prompt in prompts),
        command="resume" if choice.must_pick else "",
        begin=built.session.start,
        welcome=_welcome,
        news=lambda: _news(host),
        leave=lambda: _leave(built, choice, host),
    )


async def _chosen(arguments: Arguments, host: Machine, cwd: Path, opening: OpenContext) -> Chosen:
    """The session; if somebody else has it open, a fork of it for who wants one."""
    try:
        return await _confirmed(arguments, host, cwd, opening)
    except SessionInUse as busy:
        from pi.modes.interactive.dialogs.opening import ask_fork_busy_session  # seldom needed

        if not await ask_fork_busy_session(opening.ui, busy):
            raise OpenCancelled("") from busy
        others = {name: value for name, value in arguments.options.items() if name not in KEPT}
        forking = replace(arguments, options={**others, "fork": str(busy.path)})
        return await _assembled(forking, host, cwd, opening)


async def _confirmed(
    arguments: Arguments, host: Machine, cwd: Path, opening: OpenContext
) -> Chosen:
    """The session; a question on the way is asked on the screen, and then it starts over."""
    try:
        return await _in_some_folder(arguments, host, cwd, opening)
    except _Unanswered as unanswered:
        from pi.modes.interactive.dialogs.questions import confirm  # seldom needed

        title, _, question = str(unanswered).partition("\n")
        answer = await confirm(opening.ui, title, question.removesuffix("[y/N] ").strip())
        return await _in_some_folder(arguments, host, cwd, opening, answers=[answer])


async def _in_some_folder(
    arguments: Arguments,
    host: Machine,
    cwd: Path,
    opening: OpenContext,
    *,
    answers: Sequence[bool] = (),
) -> Chosen:
    """The session; if its folder is gone, in this one for who wants that."""
    try:
        return await _assembled(arguments, host, cwd, opening, answers=answers)
    except DirectoryGone as gone:
        from pi.modes.interactive.dialogs.opening import ask_use_current_folder

        if not await ask_use_current_folder(opening.ui, gone.stored, str(cwd)):
            raise OpenCancelled("") from gone
        return await _assembled(arguments, host, cwd, opening, answers=answers, stays_if_gone=True)


async def _assembled(
    arguments: Arguments,
    host: Machine,
    cwd: Path,
    opening: OpenContext,
    *,
    answers: Sequence[bool] = (),
    stays_if_gone: bool = False,
) -> Chosen:
    """The session, with the answers to what the choice of its file asks."""
    choice = SessionResolver(
        arguments,
        host.environ,
        agent_dir=host.agent_dir,
        confirm=_confirming(answers),
        report=opening.report,
        can_pick=True,
    )
    parts = SessionOverrides(
        open_log=choice.open,
        session_dir=named_session_dir(arguments, host, cwd),
        persistent=not arguments.switch("no_session"),
        stays_if_gone=stays_if_gone,
        ask_trust=opening.ask_trust,
        mode="tui",
        ui=opening.extension_ui,
        on_stall=opening.on_stall,
    )
    return await assemble(cwd, host, session_options(arguments), parts), choice


class _Unanswered(Exception):
    """The person has to be asked first."""


def _confirming(answers: Sequence[bool]) -> Callable[[str], bool]:
    """Gives the answers that are known, one after the other; then the person has to be asked."""
    known = iter(answers)

    def confirm(question: str) -> bool:
        for answer in known:
            return answer
        raise _Unanswered(question)

    return confirm


async def _decided(arguments: Arguments, built: AssembledSession) -> Arguments:
    """What was said, now that the flags of extensions are known."""
    from pi.cli.extension_options import resolve_options  # most command lines have no such flags

    try:
        return resolve_options(arguments, built.session.extensions.flags())
    except PiError:
        await built.session.close()
        raise


def _leave(built: AssembledSession, choice: SessionResolver, host: Machine) -> str:
    """Let ``--continue`` find the session again, and say how else to come back to it."""
    facts = built.session.facts
    choice.remember(facts.file, built.session.cwd, host.clock)
    lines = [LOSS] if facts.problem is not None else []
    if facts.file is not None and facts.is_saved:
        lines.append(HINT.format(id=facts.header.id))
    return "\n".join(lines)


def _lines(built: AssembledSession, *, verbose: bool) -> list[str]:
    """What the person reads at the start: everything, or a line."""
    if verbose:
        from pi.cli.session_setup import verbose_report

        return list(verbose_report(built))
    resources = built.workspace.resources
    parts = [f"pi {__version__}"]
    parts += [Path(file.path).name for file in resources.context.files]
    for number, what in (
        (len(resources.skills), "skill"),
        (len(resources.prompts), "prompt template"),
    ):
        if number:
            parts.append(f"{number} {what}{'s' * (number != 1)}")
    return [" · ".join([*parts, "/help for commands"])]


def _themes(arguments: Arguments, built: AssembledSession, host: Machine, cwd: Path) -> list[Path]:

    known = built.session.extensions.theme_paths
    return session_themes(arguments, built.workspace, host, cwd=cwd, of_extensions=known)


async def _welcome(ui: Ui) -> None:
    from pi.modes.interactive.welcome import warn_about_extra_billing, welcome

    await welcome(ui, __version__)
    await warn_about_extra_billing(ui)


async def _news(host: Machine) -> str:
    """Whether there is a newer version; asked at most once a day."""
    from pi.cli.update_check import UpdateCheck

    check = UpdateCheck(host)
    await check.look()
    return check.notice()


# Which theme files a session may use: named, or of the project, the person, packages.


_FOLDER = "themes"


def session_themes(
    arguments: Arguments,
    workspace: Workspace,
    host: Machine,
    *,
    cwd: Path,
    of_extensions: Iterable[Path] = (),
) -> list[Path]:
    """The files, what wins first. They are looked for anew each time; none is read.

    ``cwd`` is where the command line was written, ``of_extensions`` are files and folders that
    extensions know of.
    """
    given = [cwd / expand_home(path) for path in arguments.texts("theme") or ()]
    named = list(_files(given))
    if arguments.switch("no_themes"):
        return named
    of_packages = [place.path for each in workspace.packages for place in each.places("themes")]
    return named + theme_paths(
        workspace.settings,
        host.agent_dir,
        workspace.cwd / ".pi",
        trusted=workspace.trust.trusted,
        others=(*of_packages, *of_extensions),
    )


def theme_paths(
    settings: Settings,
    agent_dir: Path,
    project: Path,
    *,
    trusted: bool,
    others: Iterable[Path] = (),
) -> list[Path]:
    """The theme files of the settings, of both folders of themes and of ``others``."""
    lists = (_selection(settings, "project", project), _selection(settings, "user", agent_dir))
    places = [project / _FOLDER] if trusted else []
    places.append(agent_dir / _FOLDER)
    places += [path for each in lists for path in (*each.paths, *each.forced)]
    found = _files((*places, *others))
    return [path for path in found if all(each.admits(path, path.parent) for each in lists)]


def _selection(settings: Settings, scope: str, base: Path) -> Selection:
    """What a settings file says of themes; a project's says nothing before it is trusted."""
    listed = settings.layer(scope, (_FOLDER,))
    entries = listed if isinstance(listed, list) else []
    return Selection.of([entry for entry in entries if isinstance(entry, str)], base)


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if is_folder(place):
            yield from theme_files(place)
        elif is_file(place):
            yield place
