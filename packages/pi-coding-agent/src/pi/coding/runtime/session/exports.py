"""Exports a session without the user's secrets: as a file, text, or shared web page."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from pi.ai.messages import SystemMessage
from pi.ai.transcript import Instructions, fold
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.export.files import (
    ShareFailed,
    destination,
    export_session,
    rendered,
    transcript_of,
)
from pi.coding.export.redaction import Redactor
from pi.coding.export.share import (
    GH_VARIABLES,
    Shared,
    ShareHandler,
    command_handler,
    share_session,
)
from pi.coding.export.text import render_text
from pi.coding.port.extensions import Sink
from pi.coding.port.queries import ExportForm
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.session.context import convert_to_llm

_SUFFIXES: Final[dict[ExportForm, str]] = {
    "html": ".html",
    "markdown": ".md",
    "text": ".txt",
    "jsonl": ".jsonl",
}


class ShareOptions(Record):
    """``share`` of the settings."""

    command: tuple[str, ...] = ()
    """A program that is run instead of ``gh``, with the page's file as its last argument."""
    target: str = ""
    """The target of an extension that ``/share`` uses without a name."""
    store: Literal["gist", "blob"] = "gist"
    """The default of ``/share`` without target and command: a gist, or the target ``blob``."""


class Exports:
    """Exports the current state of a session."""

    def __init__(self, core: LiveSession, secrets: KnownSecrets) -> None:
        self._core = core
        self._secrets = secrets
        self._redactors: dict[Sink, tuple[tuple[str, ...], Redactor]] = {}

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
            extra=partial(core.extensions.redacted, sink="export"),
            instructions=_instructions(core),
        )
        return await asyncio.to_thread(work)

    async def text(self) -> str:
        """Return the branch as text, with prompt and tools; empty if there are no messages."""
        core = self._core
        transcript = transcript_of(core.log, self._redactor("export"), _instructions(core))
        return await asyncio.to_thread(render_text, transcript)

    async def render(self, form: ExportForm, sink: Sink) -> bytes:
        """Return the session in a format, redacted for a sink; works without a session file."""
        core = self._core
        if form not in _SUFFIXES:
            raise PiError(f"Cannot export as {form!r}.", hint=f"Use one of {', '.join(_SUFFIXES)}.")
        work = partial(
            rendered, core.log, _SUFFIXES[form], self._redactor(sink), _instructions(core)
        )
        return await asyncio.to_thread(work)

    def redact(self, value: Any, sink: Sink) -> Any:
        """Return a text or JSON value without secrets, after the redactors for a sink."""
        redactor = self._redactor(sink)
        return redactor.text(value) if isinstance(value, str) else redactor.json(value)

    def targets(self) -> tuple[tuple[str, str], ...]:
        """Return the share targets of extensions with their descriptions."""
        targets = self._core.extensions.share_targets().items()
        return tuple((name, target.description) for name, target in targets)

    async def share(self, target: str = "") -> Shared:
        """Upload the session as a page: to a target, with the user's own program, or as a gist.

        Without a name, the setting ``share.target`` names the target. Cancelling aborts the upload.
        """
        core = self._core
        cwd, env = core.workspace.cwd, core.workspace.program_environment()
        env_of_process = core.workspace.environment.of_process
        options = core.workspace.settings.section(("share",), ShareOptions)
        by_store = "blob" if options.store == "blob" and not options.command else ""
        handler = self._handler(target or options.target or by_store)
        if handler is None and options.command:
            handler = command_handler(options.command, cwd=cwd, env=env)
        own = {name: env_of_process[name] for name in GH_VARIABLES if name in env_of_process}
        return await share_session(
            core.log,
            cwd=cwd,
            env=env if handler else {**env, **own},
            handler=handler,
            secrets=self._secrets.values(),
            extra=partial(core.extensions.redacted, sink="share"),
            instructions=_instructions(core),
        )

    def _handler(self, name: str) -> ShareHandler | None:
        """Return the handler of a target; ``None`` without a name. Raises ``ShareFailed``."""
        if not name:
            return None
        targets = self._core.extensions.share_targets()
        if name not in targets:
            hint = f"Known: {', '.join(targets)}." if targets else "No extension adds one."
            raise ShareFailed(f"Unknown share target {name}.", hint=hint)
        return targets[name].share

    def _redactor(self, sink: Sink) -> Redactor:
        """Return the redactor of a sink; compiled again only after secrets have changed."""
        values = self._secrets.values()
        if sink not in self._redactors or self._redactors[sink][0] != values:
            extra = partial(self._core.extensions.redacted, sink=sink)
            self._redactors[sink] = (values, Redactor(values, extra=extra))
        return self._redactors[sink][1]


def _instructions(core: LiveSession) -> Instructions | None:
    """Return system prompt and tools; ``None`` before the first request."""
    messages = convert_to_llm(core.conversation.messages())
    instructions = [message for message in messages if isinstance(message, SystemMessage)]
    return fold(instructions, keep_later=False)[0] if instructions else None
