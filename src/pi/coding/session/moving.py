"""Moving a session, with its artifacts, to another working directory.

A session file says in its header where it belongs, so the header of the moved file says the new
directory. Every other byte is as it was, and so is the file that is left until all is done.
"""

from __future__ import annotations

import errno
import shutil
from contextlib import ExitStack
from pathlib import Path

from pi.base.files import FileProblem, private_directory, replace_file
from pi.base.json_lines import encode_line
from pi.coding.blobs.folder import artifact_directory
from pi.coding.session.errors import NotASession, SessionNotFound, SessionProblem
from pi.coding.session.locking import sole_use
from pi.coding.session.reading import read_file, read_object


def move_session(path: Path, *, cwd: str, directory: Path) -> Path:
    """Make the session one of ``cwd``, whose sessions are in ``directory``; gives its new file.

    It must not be open, or ``SessionInUse``. Nothing is overwritten. If a step fails, those before
    it are undone.
    """
    target = directory / path.name
    if not path.exists():
        raise SessionNotFound(path)
    if target.exists() or artifact_directory(target).exists():
        raise SessionProblem(f"Cannot move {path}: there is a session of that name in {directory}.")
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
        raise FileProblem(
            f"Cannot move {path} to {directory}: {error.strerror or error}.",
            hint="It is where it was.",
        ) from error
    return target


def relocated(lines: list[bytes], path: Path, cwd: str) -> bytes:
    """The content of a session file with another working directory in its header.

    The same bytes, if it has that one already. ``path`` is for the error message.
    """
    for place, line in enumerate(lines):
        match read_object(line):
            case None:
                continue
            case {"type": "session", "id": str()} as header:
                same = header.get("cwd") == cwd
                renewed = line if same else encode_line({**header, "cwd": cwd})
                return b"".join([*lines[:place], renewed, *lines[place + 1 :]])
            case _:
                break
    raise NotASession(path)


def _move_directory(source: Path, target: Path) -> None:
    """Rename, or copy and remove where that is another file system; all of it or nothing."""
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
    shutil.rmtree(source, ignore_errors=True)  # what stays is only a copy
