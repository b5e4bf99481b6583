"""The interactive mode: the screen first, the session behind it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import SystemClock
from pi.base.errors import PiError
from pi.base.records import replace
from pi.cli.agent_dir import agent_directory
from pi.cli.arguments import Arguments
from pi.cli.signals import Signalled, until_signal
from pi.modes.interactive import app
from pi.modes.interactive.startup import Opened, Opening, Start
from pi.modes.phases import phase

if TYPE_CHECKING:  # nothing of this is loaded before the first frame
    from pi.cli.session_choice import SessionChoice
    from pi.coding.runtime.assemble import Assembled
    from pi.coding.runtime.host import Host
    from pi.coding.trust.trust import Choice
    from pi.modes.interactive.ui import Commands, Ui
    from pi.modes.json_lines import Prompt

HINT = "To resume this session: pi --session {id}"


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Talk with the person until they leave; the exit code.

    ``when_ready`` is called once everything is loaded.
    """
    if arguments.switch("offline"):
        environ = {**environ, "PI_OFFLINE": "1"}
    home = Path(environ.get("HOME") or Path.home())
    tui_mode = arguments.text("tui_mode")
    start = Start(
        load=phase("session:load")(_load),
        open=lambda opening: _open(arguments, environ, opening, when_ready),
        commands=_commands,
        ask_trust=_ask_trust,
        environ=environ,
        cwd=Path.cwd(),
        home=home,
        agent_dir=agent_directory(environ),
        clock=SystemClock(),
        theme=arguments.text("use_theme"),
        fullscreen=None if tui_mode is None else tui_mode == "fullscreen",
        verbose=arguments.switch("verbose"),
        system=sys.platform,
    )
    try:
        hint = asyncio.run(until_signal(app.run(start)))
    except Signalled as ended:
        return 128 + ended.number
    except PiError as problem:
        return _without_session(problem)
    if hint:
        sys.stdout.write(f"{hint}\n")
    return 0


def _without_session(problem: PiError) -> int:
    """The exit code when there is no session to talk in; others tell what is not told here."""
    from pi.cli.session_choice import Declined
    from pi.cli.standard_streams import complain
    from pi.coding.session.errors import NoMatchingSession

    match problem:
        case Declined():
            return 0
        case NoMatchingSession():
            complain(problem.message)  # without "Error:", as the original does it
            return 1
        case _:
            raise problem


def _load() -> None:
    """Import what the session and the screen around it need: all of it is slower than a frame."""
    import pi.cli.configured
    import pi.cli.first_message
    import pi.cli.session_choice
    import pi.cli.wishes
    import pi.coding.runtime.assemble
    import pi.coding.runtime.host
    import pi.modes.interactive.commands.built_in
    import pi.modes.interactive.drafts
    import pi.modes.interactive.session_view  # noqa: F401 - imported to be there


async def _open(
    arguments: Arguments,
    environ: Mapping[str, str],
    opening: Opening,
    when_ready: Callable[[], None],
) -> Opened:
    # Not at the top: see _load.
    from pi.cli.first_message import assembled_prompts
    from pi.cli.wishes import warnings
    from pi.coding.runtime.host import Host

    cwd, host = Path.cwd(), Host.of(environ, report=opening.report)

    def prompts_of(arguments: Arguments) -> Sequence[Prompt]:
        return assembled_prompts(arguments.said, arguments.files, "", cwd=cwd, home=host.home)

    for warning in warnings(arguments):
        opening.report(warning)
    prompts = prompts_of(arguments)
    with phase("session:open"):
        built, choice = await _chosen(arguments, host, cwd, opening)
    if arguments.undecided:
        arguments = await _decided(arguments, built)
        prompts = prompts_of(arguments)
    when_ready()
    if environ.get("PI_TIMING") == "x":
        opening.ui.quit()  # only the start was wanted
    return Opened(
        port=built.session,
        host=host,
        lines=tuple(_lines(built, verbose=arguments.switch("verbose"))),
        note=built.note,
        themes=lambda: _themes(arguments, built, host),
        messages=tuple((prompt.text, prompt.images) for prompt in prompts),
        command="resume" if arguments.switch("resume") else "",
        begin=built.session.start,
        welcome=_welcome,
        news=lambda: _news(host),
        leave=lambda: _leave(built, choice, host),
    )


async def _assembled(
    arguments: Arguments, host: Host, cwd: Path, opening: Opening, answers: Sequence[bool]
) -> tuple[Assembled, SessionChoice]:
    """The session, with the answers to what the choice of its file asks."""
    from pi.cli.configured import named_session_dir
    from pi.cli.session_choice import SessionChoice
    from pi.cli.wishes import session_options
    from pi.coding.runtime.assemble import assemble
    from pi.coding.runtime.parts import Parts

    choice = SessionChoice(
        arguments,
        host.environ,
        agent_dir=host.agent_dir,
        confirm=_confirming(answers),
        report=opening.report,
    )
    parts = Parts(
        open_log=choice.open,
        session_dir=named_session_dir(arguments, host, cwd),
        persistent=not arguments.switch("no_session"),
        ask_trust=opening.ask_trust,
        mode="tui",
        ui=opening.extension_ui,
        on_stall=opening.on_stall,
    )
    return await assemble(cwd, host, session_options(arguments), parts), choice


async def _decided(arguments: Arguments, built: Assembled) -> Arguments:
    """What was said, now that the flags of extensions are known."""
    from pi.cli.extension_words import decided

    try:
        return decided(arguments, built.session.extensions.flags())
    except PiError:
        await built.session.close()
        raise


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


async def _chosen(
    arguments: Arguments, host: Host, cwd: Path, opening: Opening
) -> tuple[Assembled, SessionChoice]:
    """The session; if somebody else has it open, a fork of it for who wants one."""
    from pi.cli.session_choice import KEPT, Declined
    from pi.coding.session.errors import SessionInUse

    try:
        return await _confirmed(partial(_assembled, arguments, host, cwd, opening), opening)
    except SessionInUse as busy:
        from pi.modes.interactive.dialogs.questions import confirm

        if not await confirm(
            opening.ui,
            "Open a fork of the session?",
            f"{busy.message} A fork goes on from the same point in a file of its own.",
            yes="Open a fork",
            no="Leave",
        ):
            raise Declined("") from busy
        others = {name: value for name, value in arguments.options.items() if name not in KEPT}
        forking = replace(arguments, options={**others, "fork": str(busy.path)})
        return await _assembled(forking, host, cwd, opening, ())


async def _confirmed(
    assembled: Callable[[Sequence[bool]], Awaitable[tuple[Assembled, SessionChoice]]],
    opening: Opening,
) -> tuple[Assembled, SessionChoice]:
    """What is assembled; a question on the way is asked on the screen, and then it starts over."""
    try:
        return await assembled(())
    except _Unanswered as unanswered:
        from pi.modes.interactive.dialogs.questions import confirm

        title, _, question = str(unanswered).partition("\n")
        answer = await confirm(opening.ui, title, question.removesuffix("[y/N] ").strip())
        return await assembled([answer])


def _leave(built: Assembled, choice: SessionChoice, host: Host) -> str:
    """Let ``--continue`` find the session again, and say how else to come back to it."""
    facts = built.session.facts
    choice.remember(facts.file, built.session.cwd, host.clock)
    return HINT.format(id=facts.header.id) if facts.file is not None and facts.is_saved else ""


def _lines(built: Assembled, *, verbose: bool) -> list[str]:
    """What the person reads at the start: everything, or a line."""
    if verbose:
        from pi.cli.introduction import introduction

        return list(introduction(built))
    from pi import __version__

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


def _commands(ui: Ui) -> Commands:
    from pi.modes.interactive.commands.built_in import BuiltInCommands

    return BuiltInCommands(ui)


async def _ask_trust(ui: Ui, folder: Path) -> Choice | None:
    from pi.modes.interactive.dialogs.trust import ask_trust

    return await ask_trust(ui, folder)


def _themes(arguments: Arguments, built: Assembled, host: Host) -> list[Path]:
    from pi.cli.theme_files import session_themes

    known = built.session.extensions.theme_paths
    return session_themes(arguments, built.workspace, host, known)


async def _welcome(ui: Ui) -> None:
    from pi import __version__
    from pi.modes.interactive.plan_warning import warn_of_extra_usage
    from pi.modes.interactive.welcome import welcome

    await welcome(ui, __version__)
    await warn_of_extra_usage(ui)


async def _news(host: Host) -> str:
    """Whether there is a newer version; asked at most once a day."""
    from pi.cli.update_check import UpdateCheck

    check = UpdateCheck(host)
    await check.look()
    return check.notice()
