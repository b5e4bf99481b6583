"""Signals wake the event loop, so that their Python handlers run at once."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable


def wake_on_signals(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Let every signal wake ``loop``; returns a function that ends this.

    A signal that arrives just before the loop begins to wait, or in another thread, does not end
    the wait: its Python handler would run with the next event, perhaps never. Does nothing
    outside the main thread, or where signals wake a loop already (Windows, nested use).
    """
    reader, writer = socket.socketpair()
    reader.settimeout(0)
    writer.settimeout(0)

    def close() -> None:
        reader.close()
        writer.close()

    try:
        previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    except ValueError:  # another thread
        close()
        return lambda: None
    if previous != -1:
        signal.set_wakeup_fd(previous, warn_on_full_buffer=False)
        close()
        return lambda: None
    loop.add_reader(reader, reader.recv, 4096)

    def remove() -> None:
        signal.set_wakeup_fd(-1)
        if not loop.is_closed():
            loop.remove_reader(reader)
        close()

    return remove
