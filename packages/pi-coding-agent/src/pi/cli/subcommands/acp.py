"""``pi acp``: opens and lists sessions for the ACP server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.records import replace
from pi.cli.arguments import Arguments
from pi.cli.crashes import redact_crash
from pi.cli.loaded_options import start_session
from pi.cli.session_setup import session_options, warnings
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import print_error, protocol_output
from pi.coding.models.starting import UnknownModel
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine, settings_here
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.coding.runtime.session_places import session_dir_from_environ, session_dir_from_settings
from pi.coding.runtime.workspace import own_settings
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.file_operations import fork_file
from pi.coding.session.opening import open_session
from pi.modes.acp.server import AcpServer
from pi.modes.acp.session import OpenRequest, ReadySession
from pi.modes.stdio import Output, read_chunks

if TYPE_CHECKING:
    from pi.coding.session.catalog import ListedSession, SessionCatalog


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Serve one client over standard input and output; returns the exit code."""
    with protocol_output() as stdout:
        return run_until_signal(_run(arguments, environ, stdout, when_ready))


async def _run(
    arguments: Arguments, environ: Mapping[str, str], stdout: int, when_ready: Callable[[], None]
) -> int:
    machine = Machine.from_environ(environ, report=print_error)
    for warning in warnings(arguments):
        print_error(warning)
    # Before the client is served: an editor that cannot open a session shows no reason.
    own_settings(machine, session_options(arguments))
    sessions = AcpSessions(machine, arguments)
    if "model" in arguments.options or "provider" in arguments.options:
        await sessions.check_model()
    output = Output(stdout)
    when_ready()
    serving = asyncio.ensure_future(AcpServer(sessions, output).run(read_chunks(0)))
    broken = asyncio.ensure_future(output.broken.wait())
    try:
        await asyncio.wait({serving, broken}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        serving.cancel()
        broken.cancel()
        await asyncio.gather(serving, broken, return_exceptions=True)
        await output.close()
    return 0


class AcpSessions:
    """Sessions for one client, with the options of the command line. A ``SessionSource``."""

    def __init__(self, machine: Machine, arguments: Arguments) -> None:
        self._machine = machine
        self._arguments = arguments
        self._options: SessionOptions = session_options(arguments)
        self._session_dir = arguments.text("session_dir")
        self._persistent = "no_session" not in arguments.options

    async def open(self, request: OpenRequest) -> ReadySession:
        """Open a new or stored session."""
        base_options = self._options
        options = replace(
            base_options,
            settings={**base_options.settings, **request.settings},
            extensions=replace(
                base_options.extensions,
                inline=(*base_options.extensions.inline, *request.extensions),
            ),
        )
        overrides = SessionOverrides(
            session_dir=session_dir_from_environ(self._machine, request.cwd, self._session_dir),
            persistent=self._persistent,
            headless="headless" in self._arguments.options,
            policies=request.policies,
            stays_if_gone=True,
        )
        if request.session_id is not None:
            listed = await self._find(request.session_id)
            open_log = partial(fork_file if request.forks else open_session, listed.path)
            overrides = replace(overrides, open_log=open_log, reads_log=True)
        built = await assemble(request.cwd, self._machine, options, overrides)
        if built.note:
            print_error(built.note)
        session = built.session
        redact_crash(partial(session.extensions.redacted, sink="log"))
        start = partial(start_session, self._arguments, session, print_error)
        return ReadySession(id=session.entries.log.header.id, port=session, start=start)

    async def listed(self, cwd: Path | None) -> Sequence[ListedSession]:
        """Return the sessions of a working directory, or all."""
        if not self._persistent:
            return ()
        catalog = self._catalog(cwd)
        if cwd is None:
            return await asyncio.to_thread(catalog.in_all_directories)
        return await asyncio.to_thread(catalog.in_directory, str(cwd))

    async def delete(self, session_id: str) -> bool:
        """Move a session to the trash; return False if it does not exist."""
        from pi.coding.session.trash import Trash  # lazy: few clients delete sessions

        try:
            listed = await self._find(session_id)
        except NoMatchingSession:
            return False
        machine = self._machine
        await Trash(machine.agent_dir, machine.environ, machine.clock).delete(listed.path)
        return True

    async def has_credentials(self) -> bool:
        """Return whether a model can be used now."""
        overrides = SessionOverrides(persistent=False)
        options = replace(self._options, model=None, provider=None, models=None)
        built = await assemble(Path.cwd(), self._machine, options, overrides)
        try:
            return built.session.models.current is not None
        finally:
            await built.session.close()

    async def check_model(self) -> None:
        """Raise ``UnknownModel`` if the requested model would be replaced or is not listed.

        A harness would record the run under the name that it requested.
        """
        overrides = SessionOverrides(persistent=False, reports_skipped=False)
        built = await assemble(Path.cwd(), self._machine, self._options, overrides)
        models = built.session.models
        try:
            current = models.current
            if "allow_custom_model" in self._arguments.options or current is None:
                return
            if models.registry.is_custom(current):
                raise UnknownModel(
                    f'The provider "{current.provider}" does not list the model "{current.id}".',
                    hint="Check the name, or pass --allow-custom-model to use it all the same.",
                )
        finally:
            await built.session.close()

    async def _find(self, session_id: str) -> ListedSession:
        for session in await self.listed(None):
            if session.summary.id == session_id:
                return session
        raise NoMatchingSession(session_id)

    def _catalog(self, cwd: Path | None) -> SessionCatalog:
        from pi.coding.session.catalog import SessionCatalog  # lazy: not needed for new sessions

        folder = cwd or Path.cwd()
        custom = session_dir_from_environ(self._machine, folder, self._session_dir)
        custom = custom or session_dir_from_settings(settings_here(self._machine, folder), folder)
        return SessionCatalog(self._machine.agent_dir, custom=custom)
