"""Converts one document; the program of the child process of ``convert``.

Reads the document from standard input and writes JSON to standard output. Limits its own memory and
CPU time before it reads anything.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from contextlib import suppress
from typing import Any

MAX_OUTPUTS = 2000
"""Maximum characters of each output of a notebook's cell."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class CannotConvert(Exception):
    """The document is damaged, protected or of another type."""


def main() -> None:
    """Convert the document on standard input; the last argument has the options as JSON."""
    options = json.loads(sys.argv[-1])
    limit_resources(options["memory"], options["seconds"])
    data = sys.stdin.buffer.read()
    try:
        result = CONVERTERS[options["kind"]](data, options)
    except CannotConvert as error:
        result = {"error": str(error)}
    except ImportError as error:
        result = {"missing": error.name or str(error)}
    except MemoryError:
        result = {"error": "it needs more memory than allowed"}
    sys.stdout.write(json.dumps(result))
    sys.stdout.flush()


def limit_resources(memory: int, seconds: int) -> None:
    """Set limits that the kernel enforces; Windows has none of them."""
    try:
        import resource
    except ImportError:
        return
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_AS: memory,
    }
    for kind, value in limits.items():
        with suppress(ValueError, OSError):  # macOS does not support RLIMIT_AS
            resource.setrlimit(kind, (value, value))


def convert_html(data: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Return a page as Markdown."""
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    from pi.documents.html_markdown import to_markdown
    from pi.documents.html_pages import MAX_DEPTH, decode_page, depth_of

    page = decode_page(data, options.get("charset") or "")
    if depth_of(page) > MAX_DEPTH:
        raise CannotConvert(f"its elements are nested deeper than {MAX_DEPTH} levels")
    try:
        tree = LexborHTMLParser(page)
    except SelectolaxError as error:  # how it reports that memory is used up
        raise CannotConvert("it needs more memory than allowed") from error
    title = tree.css_first("title")
    base = tree.css_first("base[href]")
    address = options.get("url") or ""
    if base is not None and (base.attributes.get("href") or "").startswith(("http:", "https:")):
        address = base.attributes["href"] or address
    text, truncated = to_markdown(tree, base=address, limit=options["characters"])
    title_text = " ".join((title.text(deep=True) if title is not None else "").split())
    return {"text": text, "title": title_text[:500], "truncated": truncated}


def convert_pdf(data: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Return the text of some pages, or the pages as pictures."""
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        reason = "it is protected by a password" if "assword" in str(error) else "it is damaged"
        raise CannotConvert(reason) from error
    count = len(document)
    first = max(options.get("first_page") or 1, 1)
    last = min(options.get("last_page") or count, count)
    if first > count:
        raise CannotConvert(f"it has {count} pages, and page {first} was asked for")
    result: dict[str, Any] = {"pages": count, "truncated": False}
    if options.get("as_images"):
        scale = options["pixels_per_point"]
        images = []
        for number in range(first, min(last, first + options["max_images"] - 1) + 1):
            picture = document[number - 1].render(scale=scale).to_pil()
            file = io.BytesIO()
            picture.save(file, "PNG")
            images.append(base64.b64encode(file.getvalue()).decode())
        return result | {"images": images, "truncated": len(images) < last - first + 1}
    parts: list[str] = []
    remaining = options["characters"]
    for number in range(first, last + 1):
        text = document[number - 1].get_textpage().get_text_range().replace("\r\n", "\n").strip()
        part = f"--- Page {number} of {count} ---\n\n{text}\n"
        parts.append(part[:remaining])
        remaining -= len(part)
        if remaining < 0:
            result["truncated"] = True
            break
    return result | {"text": "\n".join(parts)}


def convert_notebook(data: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a Jupyter notebook and their textual outputs as Markdown."""
    try:
        notebook = json.loads(data)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise CannotConvert("it is not a notebook") from error
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language") or "python"
    parts: list[str] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        source = join_lines(cell.get("source") or cell.get("input"))
        if cell.get("cell_type") != "code":
            parts.append(source)
            continue
        parts.append(f"Cell {number}:\n\n{format_code(source, language)}")
        outputs = map(output_text, cell.get("outputs") or ())
        parts += [f"Output:\n\n{format_code(text, '')}" for text in outputs if text]
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
    limit = options["characters"]
    return {"text": text[:limit], "truncated": len(text) > limit}


def output_text(output: Any) -> str:
    """Return the text of an output; a picture becomes its type in brackets."""
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") == "error" or "traceback" in output:
        text = "\n".join(map(str, output.get("traceback") or [output.get("evalue", "")]))
    elif "text" in output:
        text = join_lines(output["text"])
    else:
        data = output.get("data") or {}
        pictures = [kind for kind in data if kind.startswith("image/")]
        text = join_lines(data.get("text/plain")) if not pictures else f"[{pictures[0]}]"
    text = _ESCAPES.sub("", text).strip("\n")
    cut = len(text) > MAX_OUTPUTS
    return text[:MAX_OUTPUTS] + (f"\n[{len(text) - MAX_OUTPUTS} more characters]" if cut else "")


def join_lines(lines: Any) -> str:
    """Return text that may be a list of lines."""
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")


def format_code(text: str, language: str) -> str:
    """Return ``text`` as a code block."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


CONVERTERS = {"html": convert_html, "pdf": convert_pdf, "notebook": convert_notebook}
