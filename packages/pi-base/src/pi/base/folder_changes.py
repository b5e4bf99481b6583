"""Notifications about the entries of a folder: inotify on Linux, kqueue on macOS and BSD.

Files that git and most editors write are replaced by renaming, which only their folder notices.
Other systems, network drives and full tables of watches have no notifications: callers also poll.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x8, 0x40, 0x80
_CREATE, _DELETE, _ONLY_FOLDERS = 0x100, 0x200, 0x1000000
_EVENTS = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS
_ONLY_EVENTS = 0x8000
"""``O_EVTONLY`` of macOS: the descriptor does not keep a volume from being unmounted."""


def watch_folder(
    folder: Path, on_change: Callable[[], None], *, system: str = sys.platform
) -> Callable[[], None] | None:
    """Call ``on_change`` in the event loop after changes, until the returned function is called.

    Returns ``None`` if there are no notifications for this folder. One call may stand for many
    changes.
    """
    try:
        if system == "linux":
            return _watch_by_inotify(folder, on_change)
        if hasattr(select, "kqueue"):
            return _watch_by_kqueue(folder, on_change, system)
    except (OSError, AttributeError, NotImplementedError):  # also C libraries without inotify
        return None
    return None


def _watch_by_inotify(folder: Path, on_change: Callable[[], None]) -> Callable[[], None]:
    import ctypes  # deferred: no start needs it

    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    if library.inotify_add_watch(descriptor, os.fsencode(folder), ctypes.c_uint32(_EVENTS)) < 0:
        os.close(descriptor)
        raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def read() -> None:
        with suppress(BlockingIOError):
            os.read(descriptor, 65_536)
        on_change()

    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, read)

    def close() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    return close


def _watch_by_kqueue(
    folder: Path, on_change: Callable[[], None], system: str
) -> Callable[[], None]:
    flags = _ONLY_EVENTS if system == "darwin" else os.O_RDONLY
    descriptor = os.open(folder, flags | os.O_CLOEXEC)
    queue = select.kqueue()  # type: ignore[attr-defined,unused-ignore]
    event = select.kevent(  # type: ignore[attr-defined,unused-ignore]
        descriptor,
        filter=select.KQ_FILTER_VNODE,  # type: ignore[attr-defined,unused-ignore]
        flags=select.KQ_EV_ADD | select.KQ_EV_CLEAR,  # type: ignore[attr-defined,unused-ignore]
        fflags=select.KQ_NOTE_WRITE,  # type: ignore[attr-defined,unused-ignore]
    )
    queue.control([event], 0)

    def read() -> None:
        queue.control([], 8, 0)
        on_change()

    loop = asyncio.get_running_loop()
    loop.add_reader(queue.fileno(), read)

    def close() -> None:
        loop.remove_reader(queue.fileno())
        queue.close()
        os.close(descriptor)

    return close
