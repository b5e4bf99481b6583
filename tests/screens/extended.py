"""A theatre whose session has an extension: a real file, loaded as people's own are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from pi.ai.providers.faux import Step
from tests.modes.interactive.theatre import Theatre

HEAD = "from __future__ import annotations\n\nimport asyncio\n\nfrom pi.extension import *\n\n"


class Extended(Theatre):
    """A theatre whose session is started before the play begins."""

    def __init__(self, tmp_path: Path, file: str, *steps: Step, **options: Any) -> None:
        super().__init__(tmp_path, *steps, **options)
        folder = self.stage.agent_dir / "extensions"
        folder.mkdir(exist_ok=True)
        self.file = folder / "guest.py"
        self.file.write_text(file, encoding="utf-8")
        self.begin = self._begin
        self._has_begun = False

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[Theatre]:
        """The application, with its session open and the extension reported that it has started."""
        async with super().playing():
            await self.until(lambda: self._has_begun)
            await self.quiet()
            yield self

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()
        self._has_begun = True


def extended(tmp_path: Path, source: str, *steps: Step, **options: Any) -> Extended:
    """A theatre with an extension; ``source`` is what stands in ``extension(pi)``."""
    body = indent(dedent(source), "    ")
    return Extended(tmp_path, f"{HEAD}def extension(pi):\n{body}\n", *steps, **options)
