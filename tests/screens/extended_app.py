"""The application with an extension in its session: a real file, loaded like a user's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from pi.ai.providers.faux import Step
from tests.modes.interactive.app_fixture import AppFixture

HEAD = "from __future__ import annotations\n\nimport asyncio\n\nfrom pi.extension import *\n\n"


class ExtendedApp(AppFixture):
    """Starts its session before the test begins."""

    def __init__(self, tmp_path: Path, file: str, *steps: Step, **options: Any) -> None:
        super().__init__(tmp_path, *steps, **options)
        folder = self.fixture.agent_dir / "extensions"
        folder.mkdir(exist_ok=True)
        self.file = folder / "guest.py"
        self.file.write_text(file, encoding="utf-8")
        self.begin = self._begin
        self._has_begun = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[AppFixture]:
        """Run the application; the session is open and the extension has started."""
        async with super().running():
            await self.until(lambda: self._has_begun)
            await self.quiet()
            yield self

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()
        self._has_begun = True


def extended(tmp_path: Path, source: str, *steps: Step, **options: Any) -> ExtendedApp:
    """The application with an extension; ``source`` is the body of ``extension(pi)``."""
    body = indent(dedent(source), "    ")
    return ExtendedApp(tmp_path, f"{HEAD}def extension(pi):\n{body}\n", *steps, **options)
