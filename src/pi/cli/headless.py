"""Print, JSON and RPC mode: a session from the command line to its exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, cast

from pi.ai.models.model import ThinkingLevel
from pi.base.records import replace
from pi.cli.arguments import Arguments, BadArguments
from pi.cli.first_message import assembled_prompts
from pi.cli.flags import LEVELS
from pi.cli.session_choice import Declined, SessionChoice
from pi.coding.resources.discovery import Wanted
from pi.coding.runtime.assemble import Assembled, Parts, assemble
from pi.coding.runtime.host import Host
from pi.coding.runtime.options import SessionOptions, ToolWishes
from pi.modes.output import Output

ENDED_BY = {"SIGTERM": 143, "SIGHUP": 129}


def complain(text: str) -> None:
    """Say something to the person, beside the output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def run(arguments: Arguments, environ: Mapping[str, str], *, mode: str) -> int:
    """Do it; the exit code."""
    try:
        return asyncio.run(_run(arguments, environ, mode))
    except Declined:
        return 0


async def _run(arguments: Arguments, environ: Mapping[str, str], mode: str) -> int:
    if mode == "rpc" and arguments.files:
        raise BadArguments("@file arguments are not supported in RPC mode")
    cwd = Path.cwd()
    host = Host.of(environ, report=complain)
    prompts = []
    if mode != "rpc":
        piped = await asyncio.to_thread(_piped)
        prompts = assembled_prompts(
            arguments.messages, arguments.files, piped, cwd=cwd, home=host.home
        )
        if not prompts:
            return 0
    output = Output(1)
    custom = _session_dir(arguments, environ, cwd, host)
    choice = SessionChoice(
        arguments,
        environ,
        agent_dir=host.agent_dir,
        custom=custom,
        confirm=confirm,
        report=complain,
    )
    persistent = not arguments.switch("no_session")
    parts = Parts(
        open_log=choice.open,
        session_dir=custom,
        persistent=persistent,
    )
    built = await assemble(cwd, host, session_options(arguments), parts)
    if built.note:
        complain(built.note)
    try:
        code = await _until_signal(_mode(mode, built, prompts, output), output)
    finally:
        await built.session.close()
        choice.remember(built.session.facts.file, built.session.cwd, host.clock)
        await output.close()
    if problem := built.session.facts.problem:
        complain(problem)
        code = code or 1
    return code


async def _mode(mode: str, built: Assembled, prompts: list[Any], output: Output) -> int:
    port = built.session
    await port.start()
    if mode == "rpc":
        from pi.modes.input import read_chunks
        from pi.modes.rpc.server import RpcServer

        await RpcServer(port, output).run(read_chunks(0))
        return 0
    if mode == "json":
        from pi.modes.json_lines import run_json

        return await run_json(port, prompts, output)
    from pi.modes.print import run_print

    return await run_print(port, prompts, output, complain)


async def _until_signal(work: Coroutine[Any, Any, int], output: Output) -> int:
    """What ``work`` gives, or what a signal or a reader that has gone makes of it."""
    ended: list[int] = []
    task = asyncio.ensure_future(work)

    def end(code: int) -> None:
        ended.append(code)
        task.cancel()

    loop = asyncio.get_running_loop()
    for name, code in ENDED_BY.items():
        if hasattr(signal, name):
            loop.add_signal_handler(getattr(signal, name), end, code)
    broken = asyncio.ensure_future(output.broken.wait())
    try:
        await asyncio.wait({task, broken}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            end(0)
        return await task
    except asyncio.CancelledError:
        if ended:
            return ended[0]
        raise
    finally:
        broken.cancel()


def _piped() -> str:
    """What is piped into the program; nothing, if a person sits at the other end."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def confirm(question: str) -> bool:
    """Ask a person; nobody there means no."""
    sys.stderr.write(question)
    sys.stderr.flush()
    if sys.stdin is None or not sys.stdin.isatty():
        sys.stderr.write("\n")
        return False
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _session_dir(
    arguments: Arguments, environ: Mapping[str, str], cwd: Path, host: Host
) -> Path | None:
    named = arguments.text("session_dir") or environ.get("PI_CODING_AGENT_SESSION_DIR")
    return cwd / Path(named).expanduser() if named else None


def session_options(arguments: Arguments) -> SessionOptions:
    """What the command line wants of a session."""
    level = arguments.text("thinking")
    if level is not None and level not in LEVELS:
        complain(f'Warning: Invalid thinking level "{level}". Valid values: {", ".join(LEVELS)}')
        level = None
    options = SessionOptions(
        model=arguments.text("model"),
        provider=arguments.text("provider"),
        api_key=arguments.text("api_key"),
        thinking=cast("ThinkingLevel | None", level),
        models=arguments.texts("models"),
        tools=ToolWishes(
            only=arguments.texts("tools"),
            without=arguments.texts("exclude_tools") or (),
            built_in=not arguments.switch("no_builtin_tools"),
            any=not arguments.switch("no_tools"),
        ),
        resources=Wanted(
            context_files=not arguments.switch("no_context_files"),
            skills=not arguments.switch("no_skills"),
            skill_paths=arguments.texts("skill") or (),
            prompts=not arguments.switch("no_prompt_templates"),
            prompt_paths=arguments.texts("prompt_template") or (),
            system_prompt=arguments.text("system_prompt"),
            append_system_prompt=arguments.texts("append_system_prompt") or (),
        ),
        name=arguments.text("name"),
        offline=arguments.switch("offline"),
    )
    if arguments.switch("approve"):
        return replace(options, approve=True)
    return replace(options, approve=False) if arguments.switch("no_approve") else options
