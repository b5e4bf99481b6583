"""Milliseconds of CPU per MB of outgoing text: ``masking SECRETS``.

A message with 1 MB of source code, in which every secret occurs once, is masked for the first
time: nothing of it is cached. Without secrets the battery is off, and the wrap is not there.
"""

from __future__ import annotations

import asyncio
import random
import string
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pi.ai
from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.batteries.secrets.adapter import extension
from pi.testing import make_session

SIZE = 1_000_000


def secrets(count: int) -> list[str]:
    """``count`` values, always the same."""
    source = random.Random(1)
    letters = string.ascii_letters + string.digits + "_-"
    return ["".join(source.choice(letters) for _ in range(40)) for _ in range(count)]


def code() -> str:
    """1 MB of source code."""
    files = sorted(Path(pi.ai.__file__).parent.rglob("*.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    return (text * (SIZE // len(text) + 1))[:SIZE]


def with_secrets(text: str, values: list[str]) -> str:
    """The text with every value somewhere in it."""
    step = len(text) // (len(values) + 1)
    pieces = [text[place : place + step] for place in range(0, len(text), step)]
    return "".join(piece + value for piece, value in zip(pieces, [*values, ""], strict=False))


async def cost(folder: Path, count: int) -> float:
    """Milliseconds of one prompt of 1 MB."""
    values = secrets(60)
    settings = {"secrets": {"enabled": count > 0}}
    inline = [extension] if count else []
    environ = {"PATH": "/usr/bin:/bin", **{f"S{i}_KEY": v for i, v in enumerate(values[:count])}}
    session = await make_session(
        folder, says("ok"), says("ok"), extensions=inline, settings=settings, environ=environ
    )
    async with session:
        await session.start()
        host = session.extensions.hosting.host
        if not count:
            assert not host.contributed._model_wraps()
            return 0.0
        text = with_secrets(code(), values)
        (wrapped,) = host.contributed._model_wraps()
        masking = getattr(wrapped.wrap, "__self__")._masking  # noqa: B009
        spent = []
        for number in range(5):
            # Another text each time: known ones are cached.
            message = UserMessage(content=f"{number} {text}")
            began = time.process_time()
            masking._message(message)
            spent.append((time.process_time() - began) * 1000 / (len(text) / SIZE))
        return min(spent[1:])  # RE2 builds its tables with the first one


async def main(count: int) -> None:
    """Print the figure."""
    with TemporaryDirectory() as name:
        print(await cost(Path(name), count))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
