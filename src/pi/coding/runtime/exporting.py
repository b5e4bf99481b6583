"""A session as a file for others, without the person's secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pi.ai.messages import SystemMessage
from pi.ai.transcript import fold
from pi.coding.export.files import destination, export_session
from pi.coding.runtime.core import Core
from pi.coding.session.conversion import convert_to_llm
from pi.coding.shell.environment import credential_variables


async def export(core: Core, output: str | None) -> Path:
    """Write the session to ``output``, or to a page in the working directory; gives the path."""
    cwd = core.workspace.cwd
    target = None if output is None else destination(output, cwd=cwd, home=core.host.home)
    messages = convert_to_llm(core.conversation.messages())
    told = [message for message in messages if isinstance(message, SystemMessage)]
    work = partial(
        export_session,
        core.log,
        target,
        cwd=cwd,
        secrets=tuple(_secrets(core)),
        instructions=fold(told, keep_later=False)[0] if told else None,
    )
    return await asyncio.to_thread(work)


def _secrets(core: Core) -> Iterator[str]:
    """Values that must not leave this machine."""
    for name in credential_variables():
        if value := core.workspace.environment.values.get(name):
            yield value
