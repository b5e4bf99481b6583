"""Worker threads that the exit waits for, for a limited time."""

from __future__ import annotations

import asyncio
import threading
import time

THREAD_GRACE_SECONDS = 2.0
"""Seconds that threads have to finish at exit: one can be blocked, e.g. by a dead network drive."""
_NAME = "asyncio_"
"""Name prefix of the threads of an event loop."""


def join_threads(
    loop: asyncio.AbstractEventLoop, *, grace_seconds: float = THREAD_GRACE_SECONDS
) -> None:
    """End the threads of ``loop`` and wait for them, unlike ``asyncio`` with a time limit."""
    threads = getattr(loop, "_default_executor", None)
    if threads is None:
        return
    from concurrent.futures import ThreadPoolExecutor  # already imported: asyncio uses it

    loop.set_default_executor(ThreadPoolExecutor())  # idle threads end at once and are joined
    threads.shutdown(wait=False)
    end = time.monotonic() + grace_seconds
    for thread in running_threads():
        thread.join(max(end - time.monotonic(), 0))


def running_threads() -> list[threading.Thread]:
    """Return the threads of event loops."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(_NAME)]
