"""Print, JSON and RPC mode: a session from the command line to its exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.ai.models.model import Model
from pi.cli.arguments import Arguments, Mode, UsageError
from pi.cli.command_context import named_session_dir
from pi.cli.process import confirm, piped_input, print_error, protocol_output, run_until_signal
from pi.cli.session_setup import (
    OpenCancelled,
    SessionResolver,
    build_prompts,
    session_options,
    warnings,
)
from pi.coding.runtime.assemble import AssembledSession, assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOverrides
from pi.coding.runtime.session.prompts import NoModel
from pi.coding.session.errors import NoMatchingSession
from pi.modes.headless import PromptInput
from pi.modes.phases import phase
from pi.modes.stdio import Output

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.watchdog import Stalled


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    mode: Mode,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Do it; the exit code. ``KeyboardInterrupt`` after Ctrl+C, when everything is saved.

    ``when_ready`` is called once everything is loaded and the conversation is about to begin.
    """
    try:
        with protocol_output() as stdout:
            return run_until_signal(_run(arguments, environ, mode, stdout, when_ready))
    except OpenCancelled:
        return 0
    except (NoModel, NoMatchingSession) as problem:
        # Told without "Error:", as the original does it.
        print_error(f"{problem.message}\n{problem.hint}".rstrip())
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
    said = await _reading(mode, cwd, host.home)
    prompts = said(arguments)
    if mode != "rpc" and not arguments.undecided and "resume" not in arguments.options:
        _check_prompts(prompts)  # before anything is opened, where that is possible
    choice = SessionResolver(
        arguments, host.environ, agent_dir=host.agent_dir, confirm=confirm, report=print_error
    )
    parts = SessionOverrides(
        open_log=choice.open,
        session_dir=named_session_dir(arguments, host, cwd),
        persistent=not arguments.switch("no_session"),
        mode="tui" if mode == "interactive" else mode,
        last_resort=partial(_embedded_model, host) if mode == "print" else None,
        on_stall=_name_stalled,
    )
    with phase("session:open"):
        built = await assemble(cwd, host, session_options(arguments), parts)
    _introduce(built, verbose=arguments.switch("verbose"))
    end_log = _start_log(host)
    when_ready()
    output = Output(stdout)
    try:
        if arguments.undecided:
            from pi.cli.extension_options import resolve_options

            prompts = said(resolve_options(arguments, built.session.extensions.flags()))
        if mode != "rpc":
            _check_prompts(prompts)
        async with _looking_for_updates(host, mode):
            code = await _while_read(_mode(mode, built, prompts, output), output)
    finally:
        await built.session.close()
        choice.remember(built.session.facts.file, built.session.cwd, host.clock)
        await output.close()
        end_log()
    if output.failure is not None:
        print_error(f"Error: Cannot write the output: {output.failure.strerror}")
        return 1
    # Why a session could not be kept was told when it happened.
    return code or int(built.session.facts.problem is not None)


async def _reading(
    mode: Mode, cwd: Path, home: Path
) -> Callable[[Arguments], Sequence[PromptInput]]:
    """What gives the prompts of a command line, with what was piped; none for a client of RPC."""
    if mode == "rpc":
        return lambda arguments: ()
    piped = await piped_input()
    return lambda arguments: build_prompts(
        arguments.said, arguments.files, piped, cwd=cwd, home=home
    )


def _start_log(host: Machine) -> Callable[[], None]:
    """Keep a log if a variable asks for details; returns what ends that.

    Otherwise only the screen keeps one: here warnings go to standard error.
    """
    if host.environ.get("PI_CODEX_DEBUG"):
        from pi.modes.log_file import CODEX_DEBUG, is_detailed, start_log

        if is_detailed(host.environ, CODEX_DEBUG):
            return start_log(host.agent_dir, host.environ)
    return lambda: None


def _check_prompts(prompts: Sequence[PromptInput]) -> None:
    """Raise if there is nothing to send: an empty success would hide a mistake in a script."""
    if not prompts:
        raise UsageError('No prompt: write one, as in `pi -p "hello"`, or pipe text into pi.')


async def _embedded_model(host: Machine) -> Model | None:
    from pi.cli.subcommands.models import (
        embedded_model,  # its HTTP client is for those who have no key
    )

    return await embedded_model(host)


def _name_stalled(stalled: Stalled) -> None:
    """Say who holds everything up; called beside the thread that hangs."""
    where = f"{stalled.owner.path} does not return from {stalled.function}"
    print_error(f"Warning: {where}: nothing else can happen. Ctrl+C ends pi.")


async def _mode(
    mode: Mode, built: AssembledSession, prompts: Sequence[PromptInput], output: Output
) -> int:
    port = built.session
    if mode == "rpc":
        from pi.modes.rpc.server import RpcServer
        from pi.modes.stdio import read_chunks

        server = RpcServer(port, output)  # first: extensions can ask the client from the start
        await port.start()
        await server.run(read_chunks(0))
        return 0
    await port.start()
    if mode == "json":
        from pi.modes.headless import run_json

        return await run_json(port, prompts, output, print_error)
    from pi.modes.headless import run_print

    return await run_print(port, prompts, output, print_error)


async def _while_read(work: Coroutine[Any, Any, int], output: Output) -> int:
    """What ``work`` gives; 0 as soon as nobody reads any more, because then nobody wants it."""
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
    """Only for a person who looks on: programs are told nothing."""
    if mode != "print" or not sys.stderr.isatty():
        return nullcontext()
    from pi.cli.update_check import UpdateCheck

    return UpdateCheck(host).beside(print_error)


def _introduce(built: AssembledSession, *, verbose: bool) -> None:
    """Say what the person should know before it begins."""
    if built.note:
        print_error(built.note)
    if verbose:
        from pi.cli.session_setup import verbose_report

        for line in verbose_report(built):
            print_error(line)
