"""Making sessions and opening those that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec import UNSET, field

from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.json_lines import encode_line
from pi.base.records import UNREADABLE, Record
from pi.coding.blobs.store import BlobStore, externalised, rehydrated
from pi.coding.session.entries import SESSION_VERSION, SessionHeader
from pi.coding.session.errors import SessionNotFound, SessionProblem
from pi.coding.session.log import SessionLog, is_worth_keeping
from pi.coding.session.naming import SUFFIX, IdFactory, file_name, is_session_id
from pi.coding.session.reading import SessionFile, parse_session, read_file, read_outline
from pi.coding.session.writing import Report, SessionLock, SessionWriter, lock_session


class SessionLocation(Record, kw_only=False):
    """Where sessions of one working directory are kept, and what new ones are made with."""

    directory: Path | None
    """``None``: new sessions live in memory."""
    cwd: str
    report: Report
    """Told, once per session, when its file can no longer be written."""
    stamps: IdFactory = field(default_factory=IdFactory)
    blobs: BlobStore | None = None
    """Where pictures are that session files refer to; without it, references stay."""
    externalize_images: bool = False
    """Whether large pictures of new entries go there."""

    def mirror(
        self, path: Path, lock: SessionLock | None = None, id_lock: SessionLock | None = None
    ) -> SessionWriter:
        """The file of a session that is kept here."""
        if self.blobs is None or not self.externalize_images:
            return SessionWriter(path, self.report, lock=lock, id_lock=id_lock)
        stored = partial(externalised, store=self.blobs)
        return SessionWriter(path, self.report, lock=lock, id_lock=id_lock, stored=stored)


def new_session(
    shelf: SessionLocation,
    *,
    id: str | None = None,
    parent: Path | str | None = None,
    lines: Sequence[bytes] = (),
    version: int = SESSION_VERSION,
    id_lock: SessionLock | None = None,
) -> SessionLog:
    """A session that begins here, with ``lines`` as its first entries.

    ``parent`` is the file that it comes from. ``version`` is that of the lines. ``id_lock`` is
    released when the session is closed.
    """
    if id is not None:
        check_session_id(id)
    header = SessionHeader(
        version=version,
        id=id or shelf.stamps.session_id(),
        timestamp=shelf.stamps.now(),
        cwd=shelf.cwd,
        parent_session=UNSET if parent is None else str(parent),
    )
    if shelf.directory is None:
        return _begin(header, lines, shelf.stamps, None)
    path = shelf.directory / file_name(header.timestamp, header.id)
    return _begin(header, lines, shelf.stamps, shelf.mirror(path, id_lock=id_lock))


def open_or_create(id: str, find: Callable[[], Path | None], shelf: SessionLocation) -> SessionLog:
    """The session with exactly this id, which is a new one if ``find`` returns none."""
    if (found := find()) is None:
        lock = reserve_id(id, shelf)
        if (found := find()) is None:
            return new_session(shelf, id=id, id_lock=lock)
        if lock is not None:  # the process that created it has closed it meanwhile
            lock.__exit__()
    return open_session(found, shelf)


def reserve_id(id: str, shelf: SessionLocation) -> SessionLock | None:
    """Keep other processes from creating a session of this id; ``SessionInUse`` if one does.

    The lock of a session file is not enough: its name holds the time too, so that several
    processes would each make a file of their own.
    """
    check_session_id(id)
    if shelf.directory is None:
        return None
    return lock_session(private_directory(shelf.directory) / f"{id}{SUFFIX}")


def check_session_id(id: str) -> None:
    """Raise ``SessionProblem`` for what cannot be part of a file's name."""
    if not is_session_id(id):
        raise SessionProblem(
            f"{id!r} cannot be the id of a session.",
            hint="Use letters, digits, '.', '_' and '-', with a letter or digit at both ends.",
        )


def new_replica(header: Json, stamps: IdFactory) -> SessionLog:
    """The log of a session that runs elsewhere, before the first entry has come."""
    try:
        known = msgspec.convert({**header, "type": "session"}, SessionHeader)
    except msgspec.ValidationError as problem:
        raise SessionProblem(f"This is no header of a session: {problem}") from problem
    return SessionLog(SessionFile(known, [], []), stamps, replica=True)


def open_session(path: Path, shelf: SessionLocation) -> SessionLog:
    """The session in a file; where there is no file or an empty one, a new session.

    ``SessionInUse`` if somebody has it open: it can still be forked. A file of an older version is
    replaced by one of the current; the old one stays beside it.
    """
    path = Path(shelf.cwd, path)
    lock = lock_session(path)
    mirror = shelf.mirror(path, lock)
    try:
        lines = _read_lines(path, shelf.blobs)
        if not lines:
            header = SessionHeader(
                version=SESSION_VERSION,
                id=shelf.stamps.session_id(),
                timestamp=shelf.stamps.now(),
                cwd=shelf.cwd,
            )
            return _begin(header, (), shelf.stamps, mirror)
        content = parse_session(lines, path, shelf.stamps.entry_id)
        mirror.follow(content.migrated)
        return SessionLog(content, shelf.stamps, mirror)
    except BaseException:
        mirror.close()
        raise


def read_session(path: Path, stamps: IdFactory, blobs: BlobStore | None = None) -> SessionFile:
    """What a session file holds. It is neither locked nor changed; it must exist."""
    lines = _read_lines(path, blobs)
    if not lines and not path.exists():
        raise SessionNotFound(path)
    return parse_session(lines, path, stamps.entry_id)


def _read_lines(path: Path, blobs: BlobStore | None) -> list[bytes]:
    lines = read_file(path)
    return lines if blobs is None else [rehydrated(line, blobs) for line in lines]


def _begin(
    header: SessionHeader, lines: Sequence[bytes], stamps: IdFactory, mirror: SessionWriter | None
) -> SessionLog:
    outlines = [found for line in lines if (found := read_outline(line)) is not None]
    log = SessionLog(
        SessionFile(header=header, lines=list(lines), outlines=outlines), stamps, mirror
    )
    if mirror is not None:
        mirror.begin(
            [encode_line(header), *lines], worth_keeping=any(map(is_worth_keeping, log.entries()))
        )
    return log


# Which session a terminal used last, so that ``--continue`` in it goes on with that one.


FOLDER = "terminals"
"""In the agent's directory; one small file per terminal."""
KEPT_DAYS = 30

_STABLE = ("CMUX_SURFACE_ID", "TERM_SESSION_ID", "WT_SESSION")
"""Variables whose values no other terminal has."""
_COUNTED = {"TMUX_PANE": "TMUX", "KITTY_WINDOW_ID": "KITTY_PID"}
"""Variables that count from anew in every server, with the one that tells servers apart."""


class Breadcrumb(Record):
    """What a terminal used last."""

    cwd: str
    session: str
    """The file."""


def terminal_key(environ: Mapping[str, str], *, tty: str | None, shell_pid: int) -> str | None:
    """A name for this terminal that it keeps, and that no other has; ``None`` if there is none.

    ``tty`` is the name of the terminal device, ``shell_pid`` the process that started us: devices
    are given to the next terminal when one is closed, but then another shell runs in it.
    """
    for pane, server in _COUNTED.items():
        if environ.get(pane):
            return _digest(pane, environ[pane], environ.get(server, ""))
    for name in _STABLE:
        if environ.get(name):
            return _digest(name, environ[name])
    return _digest("tty", tty, str(shell_pid)) if tty else None


def leave_breadcrumb(agent_dir: Path, key: str, crumb: Breadcrumb, clock: Clock) -> None:
    """Remember what the terminal uses now; where that is impossible it is not remembered."""
    with suppress(PiError, UnicodeEncodeError):  # names of folders may be no text
        folder = private_directory(agent_dir / FOLDER)
        replace_file(_file(folder, key), msgspec.json.encode(crumb))
        _remove_old(folder, clock.now_ms() / 1000 - KEPT_DAYS * 24 * 3600)


def find_breadcrumb(agent_dir: Path, key: str) -> Breadcrumb | None:
    """What the terminal used last, as far as it is remembered."""
    try:
        stored = read_if_exists(_file(agent_dir / FOLDER, key))
        return None if stored is None else msgspec.json.decode(stored, type=Breadcrumb)
    except (PiError, *UNREADABLE):
        return None


def _digest(*parts: str) -> str:
    import hashlib  # when a session ends, not when it begins

    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _remove_old(folder: Path, before: float) -> None:
    for path in folder.glob("*.json"):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()
