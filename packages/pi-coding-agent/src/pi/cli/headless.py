"""Print, JSON and RPC mode: runs a session and returns its exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.cli.arguments import Arguments, Mode, UsageError
from pi.cli.crashes import redact_crash
from pi.cli.first_prompt import AttachedFiles, build_prompts
from pi.cli.loaded_options import start_session
from pi.cli.requested_session import OpenCancelled, SessionResolver
from pi.cli.session_setup import session_options, verbose_report, warnings
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import confirm, piped_input, print_error, protocol_output
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.port.results import NoModel
from pi.coding.runtime.assemble import AssembledSession, assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOverrides
from pi.coding.runtime.session_places import session_dir_from_environ
from pi.coding.session.errors import NoMatchingSession
from pi.modes.headless import PrintUI, PromptInput, report_failures, run_json, run_print
from pi.modes.phases import phase
from pi.modes.stdio import Output, read_chunks

if TYPE_CHECKING:
    from pi.coding.extension_host.watchdog import Stalled
    from pi.modes.answer_schema import AnswerSchema  # deferred until the first extension is loaded


class SessionOfOtherProject(PiError):
    """The requested session belongs to another project, and there is no terminal to decide on."""


_EXTENSION_MODES: Mapping[Mode, Literal["json", "rpc"]] = {"json": "json", "rpc": "rpc"}
"""The mode that extensions see; all others are ``print`` to them."""


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    mode: Mode,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Run the mode and return the exit code.

    Raises ``KeyboardInterrupt`` after Ctrl+C, once everything is saved.

    ``when_ready`` is called after loading, before the first prompt is sent.
    """
    try:
        with protocol_output() as stdout:
            return run_until_signal(_run(arguments, environ, mode, stdout, when_ready))
    except OpenCancelled:
        return 0
    except (NoModel, NoMatchingSession) as error:
        # Printed without "Error:", like the original.
        print_error(f"{error.message}\n{error.hint}".rstrip())
        return 1


async def _run(
    arguments: Arguments,
    environ: Mapping[str, str],
    mode: Mode,
    stdout: int,
    when_ready: Callable[[], None],
) -> int:
    cwd, host = Path.cwd(), Machine.from_environ(environ, report=print_error)
    for warning in warnings(arguments):
        print_error(warning)
    needs_session = "without_session" not in arguments.options
    build = await _prompt_builder(mode, cwd, host.home, piped=needs_session)
    prompts = await build(arguments)
    if mode != "rpc" and not arguments.unresolved_words and "resume" not in arguments.options:
        _check_prompts(prompts)  # before a session is opened, where possible
    schema = _answer_schema(arguments, cwd)
    choice = SessionResolver(
        arguments, host.environ, agent_dir=host.agent_dir, confirm=_confirm_fork
    )
    parts = SessionOverrides(
        open_log=choice.open,
        reads_log=choice.reads_stored,
        session_dir=session_dir_from_environ(host, cwd, arguments.options.get("session_dir")),
        persistent="no_session" not in arguments.options,
        headless=mode in ("print", "json") or "headless" in arguments.options,
        policies=() if schema is None else (schema,),
        prompt_sections={} if schema is None else {"answer_schema": schema.instruction},
        mode=_EXTENSION_MODES.get(mode, "print"),
        last_resort=partial(_embedded_model, host)
        if mode == "print" and needs_session and _is_on_terminal()
        else None,
        reports_skipped=needs_session,
        on_stall=_name_stalled,
    )
    with phase("session:open"):
        built = await assemble(cwd, host, session_options(arguments), parts)
    if needs_session:
        _print_notes(built, verbose="verbose" in arguments.options)
    redact = partial(built.session.extensions.redacted, sink="log")
    redact_crash(redact)
    end_log = _start_log(host, redact)
    when_ready()
    output = Output(stdout)
    try:
        if arguments.unresolved_words:
            # Lazy: few command lines have such options.
            from pi.cli.extension_options import resolve_options

            prompts = await build(resolve_options(arguments, built.session.extensions.flags()))
        if mode != "rpc":
            _check_prompts(prompts)
        async with _looking_for_updates(host, mode):
            start = partial(start_session, arguments, built.session, print_error)
            code = await _while_read(_mode(mode, built, prompts, output, start, schema), output)
    finally:
        await built.session.close()
        choice.remember(built.session.entries.log.file, built.session.cwd, host.clock)
        await output.close()
        end_log()
    if output.failure is not None:
        print_error(f"Error: Cannot write the output: {output.failure.strerror}")
        return 1
    # A session that could not be saved was reported when it happened.
    return code or int(built.session.entries.log.has_lost_entries)


def _answer_schema(arguments: Arguments, cwd: Path) -> AnswerSchema | None:
    """Return the schema of the last answer, if one is given. Raises ``BadSchema``."""
    if (file := arguments.text("json_schema")) is None:
        return None
    from pi.modes.answer_schema import AnswerSchema  # deferred: few runs have a schema

    return AnswerSchema.of_file(cwd / expand_home(file))


async def _prompt_builder(
    mode: Mode, cwd: Path, home: Path, *, piped: bool
) -> Callable[[Arguments], Awaitable[Sequence[PromptInput]]]:
    """Return a function that builds the prompts with piped input; without prompts for RPC."""
    text = await piped_input() if piped and mode != "rpc" else ""
    files = AttachedFiles(cwd, home)

    async def build(arguments: Arguments) -> Sequence[PromptInput]:
        if mode == "rpc":
            return ()
        return build_prompts(arguments.prompts, await files.read(arguments.files), text)

    return build


LOGGED = ("PI_CODEX_DEBUG", "PI_PYTHON_IPC_TRACE")
"""Variables that request details in the log."""


def _start_log(host: Machine, redact: Callable[[str], str]) -> Callable[[], None]:
    """Write a log if a variable requests details; returns a function that closes it.

    Without a screen, warnings go to standard error, so there is no log by default.
    """
    if any(map(host.environ.get, LOGGED)):
        # Lazy: for debugging only.
        from pi.modes.log_file import is_detailed, start_log

        if any(is_detailed(host.environ, name) for name in LOGGED):
            return start_log(host.agent_dir, host.environ, redact=redact)
    return lambda: None


def _check_prompts(prompts: Sequence[PromptInput]) -> None:
    """Raise ``UsageError`` without a prompt: an empty success would hide a mistake in a script."""
    if not prompts:
        raise UsageError('No prompt given. Use `pi -p "hello"`, or pipe text into pi.')


def _confirm_fork(question: str) -> bool:
    """Ask whether to fork a session of another project.

    Raises ``SessionOfOtherProject`` without a terminal: a script must not go on without it.
    """
    if sys.stdin.isatty():
        return confirm(question)
    raise SessionOfOtherProject(
        question.partition("\n")[0],
        hint="Run pi there, or use --fork <id> to continue in a copy here.",
    )


def _is_on_terminal() -> bool:
    """Whether a user is at the terminal: a script whose key is missing needs an error instead."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def _embedded_model(host: Machine) -> Model | None:
    from pi.cli.subcommands.embedded_model import embedded_model

    return await embedded_model(host)


def _name_stalled(stalled: Stalled) -> None:
    """Report the blocking extension; called from a watchdog thread."""
    message = f"Extension {stalled.owner.path} is blocking in {stalled.function}"
    print_error(f"Warning: {message}. Press Ctrl+C to quit.")


async def _mode(
    mode: Mode,
    built: AssembledSession,
    prompts: Sequence[PromptInput],
    output: Output,
    start: Callable[[], Awaitable[None]],
    schema: AnswerSchema | None,
) -> int:
    port = built.session
    if mode == "rpc":
        from pi.modes.rpc.server import RpcServer  # lazy: for this mode only

        server = RpcServer(port, output)  # first: extensions can ask the client from the start
        await server.run(read_chunks(0), start)
        return 0
    if mode == "print":
        port.extensions.attach(PrintUI(output), mode)
        port.subscribe(report_failures(print_error), kinds=(ExtensionFailed,))
    await start()
    if mode == "json":
        return await run_json(port, prompts, output, print_error, schema)
    return await run_print(port, prompts, output, print_error, schema)


async def _while_read(work: Coroutine[Any, Any, int], output: Output) -> int:
    """Return the result of ``work``, or 0 as soon as the output is closed by its reader."""
    task = asyncio.ensure_future(work)
    broken = asyncio.ensure_future(output.broken.wait())
    try:
        await asyncio.wait({task, broken}, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else 0
    finally:
        task.cancel()
        broken.cancel()
        await asyncio.gather(task, broken, return_exceptions=True)


def _looking_for_updates(host: Machine, mode: Mode) -> AbstractAsyncContextManager[None]:
    """Look for updates only in print mode on a terminal, not for programs."""
    if mode != "print" or not sys.stderr.isatty():
        return nullcontext()
    from pi.cli.update_check import UpdateCheck  # lazy: print mode on a terminal only

    return UpdateCheck(host).in_background(print_error)


def _print_notes(built: AssembledSession, *, verbose: bool) -> None:
    """Print notes for the user before the session starts."""
    if built.note:
        print_error(built.note)
    if verbose:
        for line in verbose_report(built):
            print_error(line)
