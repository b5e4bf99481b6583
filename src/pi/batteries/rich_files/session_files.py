"""Files of the session, with failures as messages for the model."""

from __future__ import annotations

from pathlib import Path

from pi.extension import ExtensionAPI, PiError, ToolFailed


def starts_with(file: Path, *heads: bytes) -> bool:
    """Whether a file begins with one of ``heads``; not if it cannot be read."""
    try:
        with file.open("rb") as source:
            return source.read(16).startswith(heads)
    except OSError:
        return False


def relative(pi: ExtensionAPI, path: str) -> str:
    """A path as messages show it: relative to the working folder if it is below it."""
    file, cwd = pi.context.files.resolve(path), Path(pi.context.cwd)
    return str(file.relative_to(cwd)) if file.is_relative_to(cwd) else str(file)


async def read_file(pi: ExtensionAPI, path: str, most: int) -> bytes:
    """The content of a file of at most ``most`` bytes. Raises ``ToolFailed``."""
    try:
        return await pi.context.files.read_file(path, most=most)
    except PiError as error:
        raise ToolFailed(error.message) from error


async def write_file(pi: ExtensionAPI, path: str, data: bytes) -> None:
    """Replace a file, through the file layers. Raises ``ToolFailed``."""
    try:
        await pi.context.files.write_file(path, data)
    except ToolFailed:
        raise
    except PiError as error:
        raise ToolFailed(error.message) from error
