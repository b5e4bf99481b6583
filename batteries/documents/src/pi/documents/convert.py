"""Starts the child process that converts a document, and reads its result."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.installation import install_command
from pi.base.processes import SpawnFailed, run
from pi.base.records import Record

DocumentKind: TypeAlias = Literal["html", "pdf", "notebook"]

_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "from pi.documents.converter import main;main()"
)


class ConversionFailed(PiError):
    """A document could not be converted."""


class ConversionLimits(Record):
    """Limits of the conversion of one document; sizes in bytes."""

    seconds: float = 20.0
    memory: int = 1024**3
    input: int = 64 * 1024**2
    characters: int = 500_000
    images: int = 10


class ConversionOptions(Record):
    """Options of a conversion."""

    kind: DocumentKind
    url: str = ""
    """The address of a page, to resolve its links."""
    charset: str = ""
    """The encoding from the HTTP header."""
    first_page: int = 1
    last_page: int | None = None
    as_images: bool = False
    """Pages of a PDF as pictures instead of text."""
    pixels_per_point: float = 2.0


class ConvertedDocument(Record):
    """A document as text, or its pages as PNG pictures."""

    text: str = ""
    title: str = ""
    pages: int | None = None
    images: tuple[bytes, ...] = ()
    truncated: bool = False


async def convert_document(
    data: bytes,
    options: ConversionOptions,
    *,
    environ: Mapping[str, str],
    limits: ConversionLimits | None = None,
) -> ConvertedDocument:
    """Convert ``data`` in a child process; raises ``ConversionFailed``.

    ``environ`` is the environment of the child; pass one without credentials.
    """
    limits = limits or ConversionLimits()
    name = {"html": "page", "pdf": "PDF", "notebook": "notebook"}[options.kind]
    if len(data) > limits.input:
        raise ConversionFailed(
            f"The {name} is too large to convert ({len(data) >> 20} MiB;"
            f" the limit is {limits.input >> 20} MiB)."
        )
    settings = {
        "kind": options.kind,
        "url": options.url,
        "charset": options.charset,
        "first_page": options.first_page,
        "last_page": options.last_page,
        "as_images": options.as_images,
        "pixels_per_point": options.pixels_per_point,
        "max_images": limits.images,
        "characters": limits.characters,
        "memory": limits.memory,
        "seconds": max(round(limits.seconds), 1),
    }
    command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(settings)]
    try:
        process = await run(
            command,
            cwd=Path(sys.prefix),
            env=environ,
            timeout=limits.seconds,
            max_output=limits.characters * 8 + limits.images * 16 * 1024**2,
            input=data,
        )
    except SpawnFailed as error:
        raise ConversionFailed(f"The {name} could not be converted: {error.message}") from error
    if process.timed_out or process.signal in (9, 24):  # killed, or out of CPU time
        raise ConversionFailed(f"The {name} took longer than {limits.seconds:g} s to convert.")
    try:
        result = json.loads(process.output)
    except ValueError as error:
        last_line = process.errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        cause = last_line[0][:200] if last_line else f"the converter ended with {process.exit_code}"
        if "MemoryError" in cause or process.signal is not None:
            cause = "it needs more memory than allowed, or is damaged"
        raise ConversionFailed(f"The {name} could not be converted: {cause}.") from error
    return _read_result(result, name)


def _read_result(result: dict[str, object], name: str) -> ConvertedDocument:
    if missing := result.get("missing"):
        # A dependency of pi, so the installation is damaged, or older than this code.
        library = str(missing).partition(".")[0]
        raise ConversionFailed(
            f"The {name} cannot be converted: {missing} is not installed.",
            hint=f"Install it: {install_command([library])}",
        )
    if error := result.get("error"):
        raise ConversionFailed(f"The {name} cannot be converted: {error}.")
    images = result.get("images") or ()
    pages = result.get("pages")
    assert isinstance(images, list | tuple)
    return ConvertedDocument(
        text=str(result.get("text") or ""),
        title=str(result.get("title") or ""),
        pages=pages if isinstance(pages, int) else None,
        images=tuple(base64.b64decode(image) for image in images),
        truncated=result.get("truncated") is True,
    )
