"""Shares a session through a handler of the user, or as a secret gist."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from pi.ai.transcript import Instructions
from pi.base.errors import PiError
from pi.base.files import replace_file
from pi.base.processes import Finished, SpawnFailed, run, with_absolute_path
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.files import ShareFailed, default_name, file_of, rendered
from pi.coding.export.redaction import Redact, Redactor
from pi.coding.session.log import SessionLog

log = logging.getLogger(__name__)

VIEWER_VARIABLE = "PI_SHARE_VIEWER_URL"
DEFAULT_VIEWER = "https://pi.dev/session/"
GH_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
"""Credentials that gh gets, although they are withheld from other commands."""
CHECK_TIMEOUT_SECONDS, UPLOAD_TIMEOUT_SECONDS = 30.0, 300.0
"""Time after which a program is terminated."""
STALL_SECONDS = 60.0
"""Time without I/O and CPU use after which an upload is considered hung."""
MAX_OUTPUT_BYTES = 64 * 1024

_PART = r"[^\s/\x00-\x1f\x7f-\x9f]+"
_GIST = re.compile(rf"https://{_PART}/(?:{_PART}/)*(?P<id>[0-9a-f]{{16,}})(?!\S)")
_ADDRESS = re.compile(r"https?://\S+")


class Shared(Record):
    """Addresses of a shared session. Show them without truncation."""

    url: str = ""
    """The page; empty if the handler returns none."""
    gist_url: str = ""
    message: str = "Session shared"
    warning: str = ""
    """A warning for the user about a successful share."""


ShareHandler: TypeAlias = Callable[[Path], Awaitable[Shared | str | None]]
"""Takes the page's file, which is removed afterwards; returns its address, a record, or nothing."""


async def share_session(
    session: SessionLog,
    *,
    cwd: Path,
    env: Mapping[str, str],
    handler: ShareHandler | None = None,
    secrets: Iterable[str] = (),
    extra: Redact | None = None,
    instructions: Instructions | None = None,
) -> Shared:
    """Render a redacted page of the session and share it. Raises ``ShareFailed``.

    There is no fallback from a failed handler to a gist: the user has chosen the handler.
    Cancelling ends the upload.
    """
    name = default_name(file_of(session))
    redactor = Redactor(secrets, extra=extra)
    page = await asyncio.to_thread(rendered, session, ".html", redactor, instructions)
    async with _temporary(name, page, env) as file:
        if handler is None:
            return await _as_gist(file, cwd=cwd, env=env)
        try:
            return _to_shared(await handler(file))
        except Exception as error:  # code of the user, which may raise anything
            if not isinstance(error, PiError):
                log.warning("the share handler failed", exc_info=error)
            reason = one_line(str(error)) or type(error).__name__
            raise ShareFailed(
                f"The share handler failed: {reason}", hint="The session was not shared."
            ) from error


def command_handler(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> ShareHandler:
    """Return a handler that runs a command with the page's file as its last argument.

    The last URL in its output is the page's; without one, the output is the message.
    """

    async def share(file: Path) -> Shared:
        result = await _run([*command, str(file)], cwd=cwd, env=env, timeout=UPLOAD_TIMEOUT_SECONDS)
        if not result.ok or result.flooded:
            raise ShareFailed(f"{command[0]} failed: {_failure_reason(result)}")
        output = result.output.decode("utf-8", "replace")
        addresses = _ADDRESS.findall(output)
        if addresses:
            return Shared(url=addresses[-1])
        return Shared(message=one_line(output)) if output.strip() else Shared()

    return share


def _to_shared(result: Shared | str | None) -> Shared:
    match result:
        case Shared():
            return result
        case str(url):
            return Shared(url=url)
        case None:
            return Shared()


async def _as_gist(file: Path, *, cwd: Path, env: Mapping[str, str]) -> Shared:
    check = await _gh(["auth", "status"], cwd=cwd, env=env, timeout=CHECK_TIMEOUT_SECONDS)
    if check.flooded or check.timed_out or check.stalled or check.signal is not None:
        raise ShareFailed(f"GitHub CLI cannot be used: {_failure_reason(check)}")
    if not check.ok:
        raise ShareFailed("GitHub CLI is not logged in.", hint="Run 'gh auth login' first.")
    create = ["gist", "create", "--public=false", str(file)]
    created = await _gh(create, cwd=cwd, env=env, timeout=UPLOAD_TIMEOUT_SECONDS)
    if not created.ok or created.flooded:
        raise ShareFailed(f"Cannot create a gist: {_failure_reason(created)}")
    gist = _GIST.search(created.output.decode("utf-8", "replace"))
    if gist is None:
        raise ShareFailed(
            "gh created a gist but did not say where it is.", hint="See 'gh gist list'."
        )
    viewer = env.get(VIEWER_VARIABLE) or DEFAULT_VIEWER
    return Shared(url=viewer + gist["id"], gist_url=gist[0])


async def _gh(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> Finished:
    try:
        return await _run(["gh", *arguments], cwd=cwd, env=env, timeout=timeout)
    except SpawnFailed as error:
        raise ShareFailed(
            "GitHub CLI (gh) is not installed.",
            hint="Install it from https://cli.github.com/, or name a program in share.command.",
        ) from error


async def _run(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> Finished:
    return await run(
        command,
        cwd=cwd,
        env=with_absolute_path(env),
        timeout=timeout,
        stall=STALL_SECONDS,
        max_output=MAX_OUTPUT_BYTES,
    )


def _failure_reason(result: Finished) -> str:
    if result.flooded:
        return "it wrote output without end."
    if result.timed_out or result.stalled:
        return "it did not answer in time."
    message = one_line((result.errors or result.output).decode("utf-8", "replace"))
    status = f"code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
    return message or f"it ended with {status}."


@asynccontextmanager
async def _temporary(name: str, page: bytes, env: Mapping[str, str]) -> AsyncIterator[Path]:
    """Yield a private file in a new private folder; both are removed at the end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="pi-share-", dir=env.get("TMPDIR") or None))
    except OSError as error:
        reason = f"Cannot create a temporary folder: {error.strerror or error}."
        raise ShareFailed(reason, hint="Check TMPDIR and the free disk space.") from error
    try:
        replace_file(folder / name, page)
        yield folder / name
    finally:
        shutil.rmtree(folder, ignore_errors=True)
