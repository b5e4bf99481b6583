"""Server process for one model file: started on first use, ended by ``close`` or with pi."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from pi.ai.errors import ProviderError, ProviderUnavailable
from pi.base.errors import PiError
from pi.base.libraries import library_folder
from pi.base.processes import Child, allow_listed, spawn

START_SECONDS = 120.0
"""Enough for a large file on a slow disk."""
_ADDRESS = re.compile(rb"(http://127\.0\.0\.1:\d+)\b")
_LAST_LINES = 5


class LocalServer:
    """Serves one GGUF file; ``address`` starts the server if it is not running."""

    def __init__(self, file: Path, *, context: int, environ: Mapping[str, str]) -> None:
        self._file = file
        self._context = context
        self._environ = environ
        self._stack = AsyncExitStack()
        self._child: Child | None = None
        self._address = ""
        self._starting = asyncio.Lock()

    async def address(self) -> str:
        """Return the base URL of the running server."""
        async with self._starting:
            if self._child is None or not await self._is_running():
                await self.close()
                self._address = await self._start()
            return self._address

    async def close(self) -> None:
        """End the server and its children."""
        stack, self._stack, self._child = self._stack, AsyncExitStack(), None
        await stack.aclose()

    async def _is_running(self) -> bool:
        assert self._child is not None
        try:
            await asyncio.wait_for(self._child.wait(), 0)
        except TimeoutError:
            return True
        return False

    async def _start(self) -> str:
        threads = max((os.cpu_count() or 2) - 1, 1)
        libraries = str(library_folder(self._environ))
        arguments = [str(self._file), str(self._context), str(threads), libraries]
        # -P: without it, modules of the current directory could be imported.
        program = [sys.executable, "-P", "-m", "pi.ai.local.serve"]
        env = {**allow_listed(self._environ), "PYTHONUNBUFFERED": "1"}
        try:
            child = await spawn([*program, *arguments], cwd=Path.cwd(), env=env, stdin="pipe")
        except PiError as error:
            raise ProviderError(error.explain()) from error
        self._child = await self._stack.enter_async_context(child)
        try:
            async with asyncio.timeout(START_SECONDS):
                address = await self._read_address(child)
        except TimeoutError:
            await self.close()
            raise ProviderUnavailable(
                f"The embedded model did not start within {START_SECONDS:g} seconds."
            ) from None
        self._stack.push_async_callback(_stop_listening, asyncio.create_task(_listen(child)))
        return address

    async def _read_address(self, child: Child) -> str:
        last_lines: list[bytes] = []
        while line := await child.output.readline():
            if match := _ADDRESS.search(line):  # the engine's log may share the line
                return match[1].decode()
            last_lines = [*last_lines, line.strip()][-_LAST_LINES:]
        await self.close()
        raise ProviderError(
            f"The embedded model could not be started with {self._file}: "
            f"{b' / '.join(last_lines).decode(errors='replace') or 'no reason was given'}"
        )


async def _listen(child: Child) -> None:
    """Read the engine's log, so that a full pipe never blocks it."""
    while await child.output.read(65536):
        pass


async def _stop_listening(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
