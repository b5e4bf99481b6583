"""Reads and writes files of the session with ``ToolFailed`` as error, and converts documents."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pi.batteries.rich_files import archives
from pi.documents.convert import ConversionFailed, ConversionOptions, convert_document
from pi.extension import (
    ExtensionAPI,
    Image,
    PiError,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    replace,
)

DOCUMENTS = {".pdf": "pdf", ".ipynb": "notebook"}
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""Environment of the converter, without credentials."""


def starts_with(file: Path, *heads: bytes) -> bool:
    """Whether a file begins with one of ``heads``; False if it cannot be read."""
    try:
        with file.open("rb") as source:
            return source.read(16).startswith(heads)
    except OSError:
        return False


def relative(pi: ExtensionAPI, path: str) -> str:
    """A path for messages: relative to the working folder if it is below it."""
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


class DocumentReader:
    """PDFs and notebooks as text, or the pages of a PDF as pictures."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, params: Any, ctx: ToolContext, inner: Any) -> Any:
        """Wrap ``read``: convert documents; other files are passed to the tool."""
        plain, _, query = params.path.partition("?")
        kind = DOCUMENTS.get(Path(plain).suffix.lower())
        files = self._pi.context.files
        if kind is None or "://" in plain or not files.resolve(plain).is_file():
            return await inner(params)
        if query and files.resolve(params.path).exists():
            return await inner(params)
        data = await read_file(self._pi, plain, archives.MAX_MEMBER)
        options = dict(parse_qsl(query, keep_blank_values=True))
        result = await convert(data, kind, options)
        if any(isinstance(part, Image) for part in result.content):
            return result
        (text,) = result.content
        assert isinstance(text, Text)
        return replace(result, content=(Text(text=_window(text.text, params)),))


async def convert(data: bytes, kind: str, options: dict[str, str]) -> ToolResult:
    """A document as text or pictures. Raises ``ToolFailed``."""
    if unknown := options.keys() - {"pages", "images"}:
        raise ToolFailed(f"Unknown parameter {min(unknown)}; there are pages and images.")
    pages = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", options.get("pages", "1-999999"))
    if pages is None:
        raise ToolFailed("pages must be a number or a range, such as 3 or 3-5.")
    last = int(pages[2] or pages[1])
    chosen = ConversionOptions(
        kind="pdf" if kind == "pdf" else "notebook",
        first_page=int(pages[1]),
        last_page=last if "pages" in options else None,
        as_images="images" in options,
    )
    try:
        document = await convert_document(data, chosen, environ=_ENVIRONMENT)
    except ConversionFailed as error:
        raise ToolFailed(error.explain()) from error
    details = {"pages": document.pages, "truncated": document.truncated}
    if document.images:
        pictures = (
            Image(data=base64.b64encode(image).decode(), mime_type="image/png")
            for image in document.images
        )
        return ToolResult(
            content=(Text(text=f"{len(document.images)} of {document.pages} pages"), *pictures),
            details=details,
        )
    plural = "" if document.pages == 1 else "s"
    notes = [f"[{document.pages} page{plural}]"] if document.pages is not None else []
    if document.truncated:
        notes.append("[The text was cut; use ?pages=A-B for a part of the document.]")
    return ToolResult.of("\n\n".join((document.text or "(no text)", *notes)), details=details)


def _window(text: str, params: Any) -> str:
    """The lines from ``offset`` on: ``limit`` or 2,000 lines, at most 50,000 characters."""
    lines = text.split("\n")
    first = max(int(params.offset) - 1, 0) if params.offset else 0
    count = int(params.limit) if params.limit else 2000
    window = "\n".join(lines[first : first + count])[:50_000]
    last = first + window.count("\n") + 1
    if last >= len(lines):
        return window
    return f"{window}\n\n[Showing lines {first + 1}-{last} of {len(lines)}. Use offset={last + 1}.]"
