"""Writes exports to files, with their names and errors."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.messages import Json
from pi.ai.transcript import Instructions
from pi.base.clock import IdFactory
from pi.base.errors import PiError
from pi.base.files import replace_file
from pi.base.json_lines import encode_line
from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.blobs.store import BlobStore
from pi.coding.export.html.page import render_page
from pi.coding.export.redaction import Redact, Redactor
from pi.coding.export.text import render_markdown, render_text
from pi.coding.export.transcript import Transcript, read_transcript
from pi.coding.session.entries import MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import read_session
from pi.coding.session.token_ids import read_token_ids
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.export.atif.trajectory import Pictures


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
"""Renderers by suffix; ``.jsonl`` is the branch itself, other suffixes are HTML pages."""
BRANCH = ".jsonl"
TRAJECTORY = ".atif.json"
"""The end of the name of a trajectory for evaluations and training; its pictures lie beside it."""
OTHER_FORMATS = (
    *(".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".json", ".csv", ".xml", ".yaml", ".yml"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".zip", ".gz", ".tar"),
)
"""Suffixes of formats that cannot be written; a page under such a name would not open.

Any other suffix is part of a name, like ``session-1.2``; the file is a page, as in the original.
"""


def is_trajectory(path: Path) -> bool:
    """Whether a file has the name of a trajectory."""
    return path.name.lower().endswith(TRAJECTORY)


def default_name(session_file: Path) -> str:
    """Return the default file name of a session's page, for the working directory."""
    return f"pi-session-{session_file.name.removesuffix(BRANCH)}.html"


def destination(argument: str, *, cwd: Path, home: Path) -> Path | None:
    """Return the file named by the argument of ``/export``; ``None`` if it is empty.

    Raises ``ExportFailed``.
    """
    try:
        arguments = (
            shlex.split(argument) if argument.lstrip()[:1] in ("'", '"') else [argument.strip()]
        )
    except ValueError as error:
        raise ExportFailed(f"Cannot read the path {argument}: {error}.") from error
    name = arguments[0]
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
    extra: Redact | None = None,
    blobs: BlobStore | None = None,
) -> Path:
    """Export a session file without locking or changing it. Returns the exported file.

    ``extra`` redacts in addition to ``secrets``. ``blobs`` has the images that the file refers to.
    Raises ``SessionNotFound`` or ``ExportFailed``.
    """
    path = cwd / session_file
    log = SessionLog(read_session(path, IdFactory(), blobs), IdFactory())
    target = _target(output, path, cwd)
    redactor = Redactor(secrets, extra=extra)
    if is_trajectory(target):
        write_trajectory(log, path, target, redactor, blobs)
    else:
        replace_file(target, rendered(log, target.suffix, redactor), mode=None)
    return target


def export_session(
    log: SessionLog,
    output: Path | None = None,
    *,
    cwd: Path,
    secrets: Iterable[str] = (),
    extra: Redact | None = None,
    instructions: Instructions | None = None,
) -> Path:
    """Export the current state of an open session. Returns the exported file.

    ``extra`` redacts in addition to ``secrets``; ``instructions`` are the current ones of the
    session, if known. Raises ``ExportFailed``.
    """
    session_file = file_of(log)
    target = _target(output, session_file, cwd)
    redactor = Redactor(secrets, extra=extra)
    if is_trajectory(target):
        write_trajectory(log, session_file, target, redactor)
    else:
        page = rendered(log, target.suffix, redactor, instructions)
        replace_file(target, page, mode=None)
    return target


def write_trajectory(
    log: SessionLog,
    session_file: Path,
    target: Path,
    redactor: Redactor,
    blobs: BlobStore | None = None,
) -> None:
    """Write a redacted session with its sub-agents, and its pictures into a folder beside it."""
    # Deferred: few exports are trajectories.
    from pi.coding.export.atif.trajectory import Pictures

    pictures = Pictures(f"{target.name[: -len(TRAJECTORY)]}-pictures")
    trajectory = _trajectory(log, session_file, redactor, pictures, blobs)
    for name, content in pictures.files.items():
        path = target.parent / name
        path.parent.mkdir(exist_ok=True)
        replace_file(path, content, mode=None)
    replace_file(target, encode_line(trajectory), mode=None)


def _trajectory(
    log: SessionLog,
    session_file: Path,
    redactor: Redactor,
    pictures: Pictures,
    blobs: BlobStore | None,
    *,
    prefix: str = "",
) -> Json:
    """Return the trajectory of a session; ``prefix`` is the id of that of its parent."""
    from pi.coding.export.atif.trajectory import Branch, BranchEntry, to_trajectory

    name = session_file.name.removesuffix(BRANCH)
    id = f"{prefix}/{name}" if prefix else log.header.id
    children = []
    for path in sorted(artifact_directory(session_file).glob(f"*{BRANCH}")):
        child = SessionLog(read_session(path, IdFactory(), blobs), IdFactory())
        children.append(_trajectory(child, path, redactor, pictures, blobs, prefix=id))
    branch = Branch(
        header=redactor.header(log.header),
        entries=[
            BranchEntry(
                entry=redactor.entry(log.at(position)), json=redactor.json(log.json(position))
            )
            for position in log.tree.path(log.leaf)
        ],
        version=__version__,
        trajectory_id=id,
        token_ids=read_token_ids(session_file),
        children=children,
    )
    return to_trajectory(branch, pictures)


def file_of(log: SessionLog) -> Path:
    """Return a session's file. Raises ``ExportFailed`` if it has none, or no messages."""
    if log.file is None:
        raise ExportFailed(IN_MEMORY, hint="Use /dump to copy it as text.")
    if not any(isinstance(entry, MessageEntry) for entry in log.entries()):
        raise ExportFailed(NOTHING_YET)
    return log.file


def rendered(
    log: SessionLog, suffix: str, redactor: Redactor, instructions: Instructions | None = None
) -> bytes:
    """Render a redacted session in the format of ``suffix``."""
    if suffix.lower() == BRANCH:
        return branch_lines(log, redactor)
    render = FORMS.get(suffix.lower(), render_page)
    return render(transcript_of(log, redactor, instructions)).encode()


def transcript_of(
    log: SessionLog, redactor: Redactor, instructions: Instructions | None = None
) -> Transcript:
    """Return the transcript of a redacted session."""
    return read_transcript(
        redactor.header(log.header),
        [redactor.entry(entry) for entry in log.entries()],
        leaf=log.leaf_id,
        instructions=None if instructions is None else redactor.instructions(instructions),
    )


def branch_lines(log: SessionLog, redactor: Redactor) -> bytes:
    """Return the current branch as a redacted session file."""
    lines = [encode_line(redactor.header(log.header))]
    for position in log.tree.path(log.leaf):
        entry = log.json(position)
        harmless = redactor.json(entry)
        line = log.line(position) if harmless == entry else encode_line(harmless)
        lines.append(line.removesuffix(b"\n") + b"\n")
    return b"".join(lines)


def _target(output: Path | None, session_file: Path, cwd: Path) -> Path:
    if output is not None and output.suffix.lower() in OTHER_FORMATS and not is_trajectory(output):
        raise ExportFailed(
            f"Cannot export as {output.suffix}: {output.name} was not written.",
            hint="Use .html, .md, .txt, .jsonl or .atif.json; a browser can print a page as PDF.",
        )
    target = cwd / (output or default_name(session_file))
    if target.is_dir():
        target /= default_name(session_file)
    if target.exists() and session_file.exists() and target.samefile(session_file):
        raise ExportFailed(
            f"{target} is the session itself, which an export must not replace.",
            hint="Choose another name.",
        )
    return target
