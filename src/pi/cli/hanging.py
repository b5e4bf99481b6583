"""Ending although a thread hangs, as one does that reads from a disk that has gone."""

from __future__ import annotations

import asyncio
import threading
import time

PATIENCE = 2.0
"""Seconds that threads have at the end of the program."""
_NAME = "asyncio_"
"""How the names of the threads begin that an event loop starts."""


def let_threads_go(loop: asyncio.AbstractEventLoop, *, patience: float = PATIENCE) -> None:
    """Have the threads of ``loop`` end, and wait for them, but not for ever as ``asyncio`` does."""
    threads = getattr(loop, "_default_executor", None)
    if threads is None:
        return
    from concurrent.futures import ThreadPoolExecutor  # loaded already: this is what it is

    loop.set_default_executor(ThreadPoolExecutor())  # which has nothing to do, and is waited for
    threads.shutdown(wait=False)
    end = time.monotonic() + patience
    for thread in still_working():
        thread.join(max(end - time.monotonic(), 0))


def still_working() -> list[threading.Thread]:
    """The threads of event loops."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(_NAME)]
