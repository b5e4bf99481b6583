"""Exports as files: what they are called, and writing them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from pi.ai.transcript import Instructions
from pi.base.errors import PiError
from pi.base.files import replace_file
from pi.base.json_lines import encode_line
from pi.coding.blobs.store import BlobStore
from pi.coding.export.html.page import render_page
from pi.coding.export.redaction import Redact, Redactor
from pi.coding.export.text import render_markdown, render_text
from pi.coding.export.transcript import Transcript, read_transcript
from pi.coding.session.entries import MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.naming import IdFactory
from pi.coding.session.opening import read_session

# Why a session did not leave the house.
#
# ExportFailed there is nothing to export, or nowhere to put it └── ShareFailed the page was made,
# but nobody would take it


class ExportFailed(PiError):
    """A session could not be exported."""


class ShareFailed(ExportFailed):
    """A session could not be shared."""


IN_MEMORY = "Cannot export in-memory session to HTML"
NOTHING_YET = "Nothing to export yet - start a conversation first"

FORMS: dict[str, Callable[[Transcript], str]] = {
    ".md": render_markdown,
    ".markdown": render_markdown,
    ".txt": render_text,
}
"""What a file is by the end of its name; ``.jsonl`` is the branch itself, all others are pages."""
BRANCH = ".jsonl"


def default_name(session_file: Path) -> str:
    """What the page of a session is called if nobody says: it lies in the working directory."""
    return f"pi-session-{session_file.name.removesuffix(BRANCH)}.html"


def destination(argument: str, *, cwd: Path, home: Path) -> Path | None:
    """The file that the words after ``/export`` name, quoted or not; none if there are none."""
    try:
        words = shlex.split(argument) if argument.lstrip()[:1] in ("'", '"') else [argument.strip()]
    except ValueError as error:
        raise ExportFailed(f"Cannot read the path {argument}: {error}.") from error
    name = words[0]
    if name in ("--copy", "clipboard", "copy"):
        raise ExportFailed("Export writes a file.", hint="Use /dump to copy the session.")
    if name == "~" or name.startswith(("~/", "~\\")):
        return home / name[2:]
    return cwd / name if name else None


def export_file(
    session_file: Path,
    output: Path | None = None,
    *,
    cwd: Path,
    secrets: Iterable[str] = (),
    blobs: BlobStore | None = None,
) -> Path:
    """Export a session file, which is neither locked nor changed; gives the file that was made.

    ``blobs`` has the pictures that the file only refers to. ``SessionNotFound`` if there is no such
    file.
    """
    path = cwd / session_file
    log = SessionLog(read_session(path, IdFactory(), blobs), IdFactory())
    target = _target(output, path, cwd)
    replace_file(target, rendered(log, target.suffix, Redactor(secrets)), mode=None)
    return target


def export_session(
    log: SessionLog,
    output: Path | None = None,
    *,
    cwd: Path,
    secrets: Iterable[str] = (),
    also: Redact | None = None,
    instructions: Instructions | None = None,
) -> Path:
    """Export a session that is open, as it stands; gives the file that was made.

    ``also`` takes out what is secret beside ``secrets``; ``instructions`` are those that the
    session has now, if they are known.
    """
    target = _target(output, file_of(log), cwd)
    page = rendered(log, target.suffix, Redactor(secrets, also=also), instructions)
    replace_file(target, page, mode=None)
    return target


def file_of(log: SessionLog) -> Path:
    """A session's file; ``ExportFailed`` if it has none, or if nothing was said in it."""
    if log.file is None:
        raise ExportFailed(IN_MEMORY, hint="Use /dump to copy it as text.")
    if not any(isinstance(entry, MessageEntry) for entry in log.entries()):
        raise ExportFailed(NOTHING_YET)
    return log.file


def rendered(
    log: SessionLog, suffix: str, redactor: Redactor, instructions: Instructions | None = None
) -> bytes:
    """A session without its secrets, in the form that a file whose name ends so has."""
    if suffix.lower() == BRANCH:
        return branch_lines(log, redactor)
    render = FORMS.get(suffix.lower(), render_page)
    return render(transcript_of(log, redactor, instructions)).encode()


def transcript_of(
    log: SessionLog, redactor: Redactor, instructions: Instructions | None = None
) -> Transcript:
    """A session without its secrets, to be rendered."""
    return read_transcript(
        redactor.header(log.header),
        [redactor.entry(entry) for entry in log.entries()],
        leaf=log.leaf_id,
        instructions=None if instructions is None else redactor.instructions(instructions),
    )


def branch_lines(log: SessionLog, redactor: Redactor) -> bytes:
    """The branch at which a session stands, as a session file without secrets."""
    lines = [encode_line(redactor.header(log.header))]
    for place in log.tree.path(log.leaf):
        entry = log.json(place)
        harmless = redactor.json(entry)
        line = log.line(place) if harmless == entry else encode_line(harmless)
        lines.append(line.removesuffix(b"\n") + b"\n")
    return b"".join(lines)


def _target(output: Path | None, session_file: Path, cwd: Path) -> Path:
    target = cwd / (output or default_name(session_file))
    if target.is_dir():
        target /= default_name(session_file)
    if target.exists() and session_file.exists() and target.samefile(session_file):
        raise ExportFailed(
            f"{target} is the session itself, which an export must not replace.",
            hint="Choose another name.",
        )
    return target
