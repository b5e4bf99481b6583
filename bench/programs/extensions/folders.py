"""Folders with trivial extensions."""

from __future__ import annotations

import py_compile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

TRIVIAL = '''\
"""Says hello."""


def extension(pi):
    @pi.command("hello-{number}")
    async def hello(args, ctx):
        """say hello"""
        ctx.ui.notify("hello")

    @pi.on("agent_start")
    {kind} begun(event, ctx):
        return None
'''


@contextmanager
def folder_with(extensions: int, kind: str = "async def") -> Iterator[Path]:
    """A folder for ``make_session``; the extensions are compiled, as after their first use."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "home" / ".pi" / "agent" / "extensions"
        place.mkdir(parents=True)
        for number in range(extensions):
            file = place / f"hello_{number}.py"
            file.write_text(TRIVIAL.format(number=number, kind=kind))
            py_compile.compile(str(file))
        yield folder
