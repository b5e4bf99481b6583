"""Taking in session files that lie elsewhere. Nothing is ever overwritten."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from pathlib import Path

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.files import private_directory, replace_file
from pi.coding.session.errors import SessionNotFound, SessionProblem
from pi.coding.session.facts import read_header
from pi.coding.session.forking import fork_file
from pi.coding.session.locking import sole_use
from pi.coding.session.moving import relocated
from pi.coding.session.naming import SUFFIX, file_name, is_session_id, session_directory
from pi.coding.session.opening import Shelf
from pi.coding.session.reading import read_file

log = logging.getLogger(__name__)

_TIME = r"[0-9T:.Z+-]+"


def unquoted(text: str, home: Path) -> Path:
    """The path that a person typed or dragged: with quotes, ``\\`` before blanks, or ``~``."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    elif "\\" in text and not re.match(r"[A-Za-z]:\\", text):
        text = re.sub(r"\\(.)", r"\1", text)
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text)


def import_session(path: Path, shelf: Shelf) -> Path:
    """Copy a session into the shelf, as one of its working directory; gives the new file.

    A session that is there already is not copied again, also if it went on since. Another one of
    the same id is imported as a fork, under an id of its own.
    """
    if shelf.directory is None:
        raise SessionProblem("This run saves no sessions.", hint="Leave out --no-session.")
    path = Path(shelf.cwd, path)
    if not path.is_file():
        raise SessionNotFound(path)
    content = relocated(read_file(path), path, shelf.cwd)
    name = _usual_name(read_header(path) or {})
    if name is not None:
        target = private_directory(shelf.directory) / name
        if _create(target, content) or target.read_bytes().startswith(content):
            return target
    fork = fork_file(path, shelf)
    fork.close()
    if fork.file is None or fork.problem is not None:
        raise SessionProblem(fork.problem or f"{path} was not imported.")
    return fork.file


def _usual_name(header: Json) -> str | None:
    """What the file of a session with this header is called; ``None`` if that can be no name."""
    match header:
        case {"timestamp": str(time), "id": str(id)} if re.fullmatch(_TIME, time) and is_session_id(
            id
        ):
            return file_name(time, id)
        case _:
            return None


def _create(target: Path, content: bytes) -> bool:
    """Write a new file; whether there was none."""
    if target.exists():
        return False
    with sole_use(target):
        if target.exists():  # another process was faster
            return False
        replace_file(target, content)
        return True


def adopt_strays(agent_dir: Path) -> list[Path]:
    """Move sessions that lie in the agent's directory itself to the folders where they belong.

    Very old versions kept them there. Files that are no sessions, that are in use or whose place is
    taken stay. Gives the new files.
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
    log.info("moved the session %s to %s", path.name, target.parent)
    return target
