"""Operations on session files: fork, clone, move, import, rename.

Forks and clones are copies: entries keep their ids, and the original is not changed and need not
have a file.
"""

from __future__ import annotations

import errno
import logging
import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import UNSET

from pi.ai.messages import Json, UserMessage
from pi.base.clock import IdFactory
from pi.base.errors import PiError
from pi.base.files import FileAccessError, private_directory, replace_file
from pi.base.json_lines import encode_line
from pi.base.locks import HolderLock
from pi.coding.blobs.artifacts import artifact_directory, copy_artifacts
from pi.coding.session.entries import (
    SESSION_VERSION,
    Label,
    MessageEntry,
    SessionHeader,
    SessionInfo,
)
from pi.coding.session.errors import CannotFork, NotASession, SessionNotFound, SessionProblem
from pi.coding.session.log import ANNOTATING, Annotations, SessionLog
from pi.coding.session.opening import SessionLocation, new_session, open_session, read_session
from pi.coding.session.reading import Outline, read_file, read_object
from pi.coding.session.summaries import read_header
from pi.coding.session.views import landing
from pi.coding.session.writing import (
    SUFFIX,
    clean_name,
    file_name,
    is_session_id,
    session_directory,
    sole_use,
)

log = logging.getLogger(__name__)


def fork_before(source: SessionLog, id: str, location: SessionLocation) -> tuple[SessionLog, str]:
    """Fork the session before a user message; returns the new session and the text of the message.

    Raises ``CannotFork`` for any other entry.
    """
    if id not in source.tree:
        raise CannotFork
    match source.entry(id):
        case MessageEntry(message=UserMessage()):
            before = landing(source, id)
            return fork_at(source, before.leaf_id, location), before.text or ""
        case _:
            raise CannotFork


def clone(source: SessionLog, location: SessionLocation) -> SessionLog:
    """Copy the path to the leaf into a new session."""
    return fork_at(source, source.leaf_id, location)


def fork_at(source: SessionLog, leaf_id: str | None, location: SessionLocation) -> SessionLog:
    """Copy the path up to and including an entry into a new session, with labels and artifacts."""
    positions = source.tree.path(None if leaf_id is None else source.tree.place(leaf_id))
    lines = [
        _copy_line(source.line(position), source.tree.outlines[position]) for position in positions
    ]
    fork = new_session(
        location,
        parent=source.file if source.is_saved else None,
        lines=lines + _missing_labels(source, positions, location.stamps),
        version=_newer_version(source.header),
    )
    _copy_artifacts(source.file, fork)
    return fork


def fork_file(
    path: Path,
    location: SessionLocation,
    *,
    id: str | None = None,
    id_lock: HolderLock | None = None,
) -> SessionLog:
    """Copy a session file, with all branches and artifacts, into a session of this directory."""
    path = Path(location.cwd, path)
    content = read_session(path, location.stamps, location.blobs)
    fork = new_session(
        location,
        id=id,
        id_lock=id_lock,
        parent=path,
        lines=list(map(_copy_line, content.lines, content.outlines)),
        version=_newer_version(content.header),
    )
    _copy_artifacts(path, fork)
    return fork


def _copy_artifacts(source: Path | None, fork: SessionLog) -> None:
    """Copy the artifacts of a session file to a fork, whose entries refer to them."""
    if source is not None and fork.file is not None:
        copy_artifacts(source, fork.file)


def _newer_version(header: SessionHeader) -> int:
    """Return the version of the source if it is newer than ours: its entries may be, too."""
    return max(header.version or SESSION_VERSION, SESSION_VERSION)


def _copy_line(line: bytes, outline: Outline) -> bytes:
    """Return a line of the copy: unchanged, except that a session name is normalised."""
    if outline.type == "session_info" and (data := read_object(line)) is not None:
        name = data.get("name")
        if isinstance(name, str) and clean_name(name) != name:
            return encode_line(data | {"name": clean_name(name)})
    return line if line.endswith(b"\n") else line + b"\n"


def _missing_labels(source: SessionLog, positions: Sequence[int], stamps: IdFactory) -> list[bytes]:
    """Return entries that set or remove labels as other branches of ``source`` have done."""
    copied = Annotations()
    for position in positions:
        if source.tree.outlines[position].type in ANNOTATING:
            copied.read(source.at(position))
    targets = {source.tree.outlines[position].id for position in positions}
    used_ids = set(targets)
    parent = source.tree.outlines[positions[-1]].id if positions else None
    lines = []
    for target in dict.fromkeys([*source.labels, *copied.labels]):
        bookmark = source.labels.get(target)
        if target not in targets or bookmark == copied.labels.get(target):
            continue
        label = Label(
            id=stamps.entry_id(used_ids),
            parent_id=parent,
            timestamp=bookmark.timestamp if bookmark else stamps.now(),
            target_id=target,
            label=bookmark.label if bookmark else UNSET,
        )
        lines.append(encode_line(label))
        used_ids.add(label.id)
        parent = label.id
    return lines


def move_session(path: Path, *, cwd: str, directory: Path) -> Path:
    """Move a session with its artifacts to ``cwd``, whose sessions are in ``directory``.

    Returns the new file. Only the working directory in the header changes. Raises ``SessionInUse``
    if the session is open. Nothing is overwritten; if a step fails, the earlier ones are undone.
    """
    target = directory / path.name
    if not path.exists():
        raise SessionNotFound(path)
    if target.exists() or artifact_directory(target).exists():
        raise SessionProblem(
            f"Cannot move {path}: {directory} already has a session with that name."
        )
    private_directory(directory)
    try:
        with sole_use(path), sole_use(target), ExitStack() as undo:
            content = relocated(read_file(path), path, cwd)
            replace_file(target, content)
            undo.callback(target.unlink)
            if artifact_directory(path).is_dir():
                _move_directory(artifact_directory(path), artifact_directory(target))
                undo.callback(_move_directory, artifact_directory(target), artifact_directory(path))
            path.unlink()
            undo.pop_all()
    except OSError as error:
        raise FileAccessError(
            f"Cannot move {path} to {directory}: {error.strerror or error}.",
            hint="The session was not moved.",
        ) from error
    return target


def relocated(lines: list[bytes], path: Path, cwd: str) -> bytes:
    """Return the content of a session file with another working directory in its header.

    Unchanged if it has that one already. ``path`` is for the error message.
    """
    for index, line in enumerate(lines):
        match read_object(line):
            case None:
                continue
            case {"type": "session", "id": str()} as header:
                same = header.get("cwd") == cwd
                renewed = line if same else encode_line({**header, "cwd": cwd})
                return b"".join([*lines[:index], renewed, *lines[index + 1 :]])
            case _:
                break
    raise NotASession(path)


def _move_directory(source: Path, target: Path) -> None:
    """Rename, or copy and remove across file systems; all or nothing."""
    try:
        source.rename(target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    try:
        shutil.copytree(source, target, symlinks=True)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        raise
    shutil.rmtree(source, ignore_errors=True)  # at worst a superfluous copy remains


_TIME = r"[0-9T:.Z+-]+"


def unquoted(text: str, home: Path) -> Path:
    """Return the path that a user typed or dragged: with quotes, escaped blanks, or ``~``."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    elif "\\" in text and not re.match(r"[A-Za-z]:\\", text):
        text = re.sub(r"\\(.)", r"\1", text)
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text)


def import_session(path: Path, location: SessionLocation) -> Path:
    """Copy a session file into this location; returns the new file. Nothing is overwritten.

    A session that exists already is not copied again, even if it was continued since. A different
    session with the same id is imported as a fork with a new id.
    """
    if location.directory is None:
        raise SessionProblem("Sessions are not saved in this run.", hint="Remove --no-session.")
    path = Path(location.cwd, path)
    if not path.is_file():
        raise SessionNotFound(path)
    content = relocated(read_file(path), path, location.cwd)
    name = _usual_name(read_header(path) or {})
    if name is not None:
        target = private_directory(location.directory) / name
        if _create(target, content):
            copy_artifacts(path, target)
            return target
        if target.read_bytes().startswith(content):
            return target
    fork = fork_file(path, location)
    fork.close()
    if fork.file is None or fork.problem is not None:
        raise SessionProblem(fork.problem or f"{path} was not imported.")
    return fork.file


def _usual_name(header: Json) -> str | None:
    """Return the usual file name for a header; ``None`` if it contains invalid parts."""
    match header:
        case {"timestamp": str(time), "id": str(id)} if re.fullmatch(_TIME, time) and is_session_id(
            id
        ):
            return file_name(time, id)
        case _:
            return None


def _create(target: Path, content: bytes) -> bool:
    """Create a file; returns whether it did not exist."""
    if target.exists():
        return False
    with sole_use(target):
        if target.exists():  # another process was faster
            return False
        replace_file(target, content)
        return True


def move_legacy_sessions(agent_dir: Path) -> list[Path]:
    """Move sessions from the agent's directory itself to their folders; returns the new files.

    Very old versions stored them there. Files that are not sessions, are in use or whose target
    exists are not moved.
    """
    adopted = []
    for path in sorted(agent_dir.glob(f"*{SUFFIX}")):
        with suppress(OSError, PiError):
            if (target := _adopt(path, agent_dir)) is not None:
                adopted.append(target)
    return adopted


def _adopt(path: Path, agent_dir: Path) -> Path | None:
    header = read_header(path)
    cwd = header.get("cwd") if header else None
    if not isinstance(cwd, str) or not cwd:
        return None
    target = session_directory(agent_dir, cwd) / path.name
    private_directory(target.parent)
    with sole_use(path), sole_use(target):
        if target.exists():
            return None
        path.rename(target)
    log.info("moved session %s to %s", path.name, target.parent)
    return target


def rename_session(path: Path, name: str, stamps: IdFactory) -> None:
    """Append a new name to the file of a closed session; a blank one removes the name.

    Raises ``SessionInUse`` if the session is open.
    """
    if not path.exists():
        raise SessionNotFound(path)
    log = open_session(path.absolute(), SessionLocation(path.parent, "", lambda line: None, stamps))
    try:
        log.append(SessionInfo(name=name))
    finally:
        log.close()
    if log.unsaved_reason is not None:
        raise FileAccessError(f"The session was not renamed: {log.unsaved_reason}.")
