"""Exports a session without the user's secrets: as a file, text, or shared web page."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from pi.ai.messages import SystemMessage
from pi.ai.transcript import Instructions, fold
from pi.base.records import Record
from pi.coding.export.files import destination, export_session, transcript_of
from pi.coding.export.redaction import Redactor
from pi.coding.export.share import GH_VARIABLES, Shared, command_handler, share_session
from pi.coding.export.text import render_text
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.session.context import convert_to_llm


class ShareOptions(Record):
    """``share`` of the settings."""

    command: tuple[str, ...] = ()
    """Runs with the page's file as its last argument, in place of ``gh``."""


class Exports:
    """Exports the current state of a session."""

    def __init__(self, core: LiveSession, secrets: KnownSecrets) -> None:
        self._core = core
        self._secrets = secrets

    async def write(self, output: str | None = None) -> Path:
        """Write the session to ``output``, or to a page in the working directory. Returns the path.

        The suffix of ``output`` decides the format.
        """
        core = self._core
        cwd = core.workspace.cwd
        target = None if output is None else destination(output, cwd=cwd, home=core.machine.home)
        work = partial(
            export_session,
            core.log,
            target,
            cwd=cwd,
            secrets=self._secrets.values(),
            also=partial(core.extensions.redacted, sink="export"),
            instructions=_instructions(core),
        )
        return await asyncio.to_thread(work)

    async def text(self) -> str:
        """Return the branch as text, with prompt and tools; empty if there are no messages."""
        core = self._core
        also = partial(core.extensions.redacted, sink="export")
        redactor = Redactor(self._secrets.values(), also=also)
        transcript = transcript_of(core.log, redactor, _instructions(core))
        return await asyncio.to_thread(render_text, transcript)

    async def share(self) -> Shared:
        """Upload the session as a page, with the user's own program or as a secret gist.

        Cancelling aborts the upload.
        """
        core = self._core
        cwd, env = core.workspace.cwd, core.workspace.program_environment()
        env_of_process = core.workspace.environment.of_process
        command = core.workspace.settings.section(("share",), ShareOptions).command
        own = {name: env_of_process[name] for name in GH_VARIABLES if name in env_of_process}
        return await share_session(
            core.log,
            cwd=cwd,
            env=env if command else {**env, **own},
            handler=command_handler(command, cwd=cwd, env=env) if command else None,
            secrets=self._secrets.values(),
            also=partial(core.extensions.redacted, sink="share"),
            instructions=_instructions(core),
        )


def _instructions(core: LiveSession) -> Instructions | None:
    """Return system prompt and tools, if a request was made."""
    messages = convert_to_llm(core.conversation.messages())
    instructions = [message for message in messages if isinstance(message, SystemMessage)]
    return fold(instructions, keep_later=False)[0] if instructions else None
