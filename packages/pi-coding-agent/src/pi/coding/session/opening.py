"""Creates and opens sessions."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec import UNSET, field

from pi.ai.messages import Json
from pi.base.clock import IdFactory
from pi.base.files import private_directory, stat_if_exists
from pi.base.garbage import collection_paused
from pi.base.json_lines import encode_line
from pi.base.locks import HolderLock
from pi.base.records import Record, replace
from pi.coding.blobs.store import BlobStore, externalised, externalised_compaction, rehydrated
from pi.coding.session.entries import SESSION_VERSION, SessionHeader
from pi.coding.session.errors import SessionNotFound, SessionProblem
from pi.coding.session.log import SessionLog, is_worth_keeping
from pi.coding.session.reading import SessionFile, parse_session, read_file, read_outline
from pi.coding.session.writing import (
    SUFFIX,
    Report,
    SessionWriter,
    file_name,
    is_session_id,
    lock_session,
)

logger = logging.getLogger(__name__)


class SessionLocation(Record, kw_only=False):
    """The storage of the sessions of one working directory, and what new sessions need."""

    directory: Path | None
    """``None``: new sessions exist in memory only."""
    cwd: str
    report: Report
    """Called when a part of a file cannot be read, and once when it can no longer be written."""
    stamps: IdFactory = field(default_factory=IdFactory)
    blobs: BlobStore | None = None
    """Store of images that session files refer to; without it, references stay unresolved."""
    externalize_images: bool = False
    """Whether large images of new entries go to ``blobs``; those of compactions always do."""

    indexes: Path | None = None
    """Folder of the indexes of long sessions; without it, every file is read in full."""
    min_indexed: int = 256 * 1024
    """Bytes of a file below which it is read in full: that takes 3 ms."""
    read_entries: int = 400
    """Entries of the branch that are always read: a screen shows most of them at once."""

    def writer(
        self, path: Path, lock: HolderLock | None = None, id_lock: HolderLock | None = None
    ) -> SessionWriter:
        """Return the writer of a session file in this location."""
        if self.blobs is None:
            return SessionWriter(path, self.report, lock=lock, id_lock=id_lock)
        change = externalised if self.externalize_images else externalised_compaction
        stored = partial(change, store=self.blobs)
        return SessionWriter(path, self.report, lock=lock, id_lock=id_lock, stored=stored)


def new_session(
    location: SessionLocation,
    *,
    id: str | None = None,
    parent: Path | str | None = None,
    lines: Sequence[bytes] = (),
    version: int = SESSION_VERSION,
    id_lock: HolderLock | None = None,
) -> SessionLog:
    """Create a session with ``lines`` as its first entries.

    ``parent`` is the file that it comes from, ``version`` that of the lines. ``id_lock`` is
    released when the session is closed.
    """
    if id is not None:
        check_session_id(id)
    header = SessionHeader(
        version=version,
        id=id or location.stamps.session_id(),
        timestamp=location.stamps.now(),
        cwd=location.cwd,
        parent_session=UNSET if parent is None else str(parent),
    )
    if location.directory is None:
        return _begin(header, lines, location.stamps, None)
    path = location.directory / file_name(header.timestamp, header.id)
    return _begin(header, lines, location.stamps, location.writer(path, id_lock=id_lock))


def open_or_create(
    id: str, find: Callable[[], Path | None], location: SessionLocation
) -> SessionLog:
    """Open the session with exactly this id; create it if ``find`` returns none."""
    if (path := find()) is None:
        lock = reserve_id(id, location)
        if (path := find()) is None:
            return new_session(location, id=id, id_lock=lock)
        if lock is not None:  # the process that created it has closed it meanwhile
            lock.__exit__()
    return open_session(path, location)


def reserve_id(id: str, location: SessionLocation) -> HolderLock | None:
    """Lock a session id against creation by other processes; raises ``SessionInUse``.

    The lock of a session file is not enough: its name contains the time, so several processes would
    each create their own file.
    """
    check_session_id(id)
    if location.directory is None:
        return None
    return lock_session(private_directory(location.directory) / f"{id}{SUFFIX}")


def check_session_id(id: str) -> None:
    """Raise ``SessionProblem`` for an id that cannot be part of a file name."""
    if not is_session_id(id):
        raise SessionProblem(
            f"Invalid session id {id!r}.",
            hint="Use letters, digits, '.', '_' and '-', with a letter or digit at both ends.",
        )


def new_replica(header: Json, location: SessionLocation, file: Path | None = None) -> SessionLog:
    """Create the log of a remote session before its first entry has arrived.

    Entries are stored in ``file``, if given; a file with a part of the same session is continued.
    Raises ``SessionProblem`` if it has another session, ``SessionInUse`` if it is open.
    """
    try:
        own_header = msgspec.convert({**header, "type": "session"}, SessionHeader)
    except msgspec.ValidationError as error:
        raise SessionProblem(
            f"Invalid session header received from the remote session: {error}"
        ) from error
    if file is None:
        return SessionLog(SessionFile(own_header, [], []), location.stamps, replica=True)
    path = Path(location.cwd, file)
    writer = location.writer(path, lock_session(path))
    try:
        lines = _read_lines(path, location.blobs, location.report)
        content = SessionFile(own_header, [], [])
        if lines:
            content = parse_session(lines, path, location.stamps.entry_id)
            if content.header.id != own_header.id:
                raise SessionProblem(
                    f"{path} holds the session {content.header.id}, not {own_header.id}.",
                    hint="Use another file for this session.",
                )
            writer.follow(content.migrated)
        else:
            # Entries of the feed have the current version, whatever the file of the host has.
            own = replace(own_header, version=SESSION_VERSION)
            writer.begin([encode_line(own)], worth_keeping=False)
        return SessionLog(content, location.stamps, writer, replica=True)
    except BaseException:
        writer.close()
        raise


def open_session(
    path: Path, location: SessionLocation, *, parent: Path | None = None
) -> SessionLog:
    """Open a session file; a missing or empty file becomes a new session that names ``parent``.

    Raises ``SessionInUse`` if it is open: it can still be forked. A file of an older version is
    migrated; the old file is kept beside it.
    """
    path = Path(location.cwd, path)
    lock = lock_session(path)
    writer = location.writer(path, lock)
    try:
        if (log := _open_tail(path, location, writer)) is not None:
            return log
        stored = read_file(path, location.report)
        if not stored:
            header = SessionHeader(
                version=SESSION_VERSION,
                id=location.stamps.session_id(),
                timestamp=location.stamps.now(),
                cwd=location.cwd,
                parent_session=UNSET if parent is None else str(parent),
            )
            return _begin(header, (), location.stamps, writer)
        lines = _restored(stored, location.blobs, location.report)
        with collection_paused():
            content = parse_session(lines, path, location.stamps.entry_id)
            writer.follow(content.migrated)
            log = SessionLog(content, location.stamps, writer)
        if content.migrated is None and _store_index(log, content, stored, lines, path, location):
            return _open_tail(path, location, writer) or log
        return log
    except BaseException:
        writer.close()
        raise


def _open_tail(path: Path, location: SessionLocation, writer: SessionWriter) -> SessionLog | None:
    """Open a long session without the entries that its context does not need.

    ``None`` if it has to be read in full.
    """
    if location.indexes is None or _size(path) < location.min_indexed:
        return None
    from pi.coding.session.earlier import read_tail  # lazy: most sessions are short

    missing: set[str] = set()

    def restore(line: bytes) -> bytes:
        return line if location.blobs is None else rehydrated(line, location.blobs, missing)

    if (tail := read_tail(path, location.indexes, restore)) is None:
        return None
    content, earlier, stored, restored = tail
    writer.follow()
    log = SessionLog(content, location.stamps, writer, earlier=earlier)
    _report_missing(missing, location.blobs, location.report)
    _store_index(log, content, stored, restored, path, location)
    return log


def _store_index(
    log: SessionLog,
    content: SessionFile,
    stored: Sequence[bytes],
    restored: Sequence[bytes],
    path: Path,
    location: SessionLocation,
) -> bool:
    """Write the index of a long session with a compaction; returns whether there is a new one."""
    least = location.min_indexed
    has_compaction = any(outline.type == "compaction" for outline in content.outlines)
    if location.indexes is None or not has_compaction or sum(map(len, stored)) < least:
        return False
    from pi.coding.session.indexing import store_index

    now = location.stamps.clock.now_ms() / 1000
    with collection_paused(), suppress(OSError):  # an index is never needed
        return store_index(
            log,
            content,
            stored,
            restored,
            path,
            location.indexes,
            now=now,
            min_bytes=least,
            shown=location.read_entries,
        )
    return False


def _size(path: Path) -> int:
    status = stat_if_exists(path)
    return 0 if status is None else status.st_size


async def opened_in_thread(
    open: Callable[[SessionLocation], SessionLog], location: SessionLocation, *, count: bool = True
) -> SessionLog:
    """Call ``open`` in a thread: reading 200,000 entries takes half a second.

    ``count`` is for a screen, which shows the number of its earlier messages.
    Reports reach ``location.report`` on the loop. A log that is opened after a cancellation is
    closed again.
    """
    loop, loop_thread = asyncio.get_running_loop(), threading.get_ident()

    def report(text: str) -> None:
        if (
            threading.get_ident() == loop_thread
        ):  # the writer keeps this function and calls it later
            location.report(text)
        else:
            loop.call_soon_threadsafe(location.report, text)

    def work_in_thread() -> SessionLog:
        log = open(replace(location, report=report))
        if count:
            from pi.coding.session.display import count_displayed  # lazy: new sessions need none

            count_displayed(log, log.leaf)  # fills the cache that a screen reads on the event loop
        return log

    work = asyncio.ensure_future(asyncio.to_thread(work_in_thread))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        work.add_done_callback(_close_opened)
        raise


def _close_opened(work: asyncio.Future[SessionLog]) -> None:
    if not work.cancelled() and work.exception() is None:
        work.result().close()


def read_session(path: Path, stamps: IdFactory, blobs: BlobStore | None = None) -> SessionFile:
    """Read a session file without locking or changing it.

    Raises ``SessionNotFound`` or ``NotASession``.
    """
    lines = _read_lines(path, blobs, logger.warning)
    if not lines and not path.exists():
        raise SessionNotFound(path)
    return parse_session(lines, path, stamps.entry_id)


def _read_lines(path: Path, blobs: BlobStore | None, report: Report) -> list[bytes]:
    return _restored(read_file(path, report), blobs, report)


def _restored(lines: list[bytes], blobs: BlobStore | None, report: Report) -> list[bytes]:
    """Return lines of a file with their images."""
    if blobs is None:
        return lines
    missing: set[str] = set()
    lines = [rehydrated(line, blobs, missing) for line in lines]
    _report_missing(missing, blobs, report)
    return lines


def _report_missing(missing: set[str], blobs: BlobStore | None, report: Report) -> None:
    if missing and blobs is not None:
        pictures = "1 picture" if len(missing) == 1 else f"{len(missing)} pictures"
        report(f"{pictures} of this session cannot be read from {blobs.directory}.")


def _begin(
    header: SessionHeader, lines: Sequence[bytes], stamps: IdFactory, writer: SessionWriter | None
) -> SessionLog:
    outlines = [outline for line in lines if (outline := read_outline(line)) is not None]
    log = SessionLog(
        SessionFile(header=header, lines=list(lines), outlines=outlines), stamps, writer
    )
    if writer is not None:
        writer.begin(
            [encode_line(header), *lines], worth_keeping=any(map(is_worth_keeping, log.entries()))
        )
    return log
