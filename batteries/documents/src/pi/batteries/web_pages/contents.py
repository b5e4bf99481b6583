"""The content of a response as text or a picture, by its type."""

from __future__ import annotations

import base64
import json
import re

from pi.documents.convert import (
    ConversionFailed,
    ConversionLimits,
    ConversionOptions,
    ConvertedDocument,
    convert_document,
)
from pi.extension import Image, Record, Text, ToolFailed

MAX_BYTES = 10 * 1024**2
"""Maximal size of a page; the rest is not read."""
MAX_LINE = 8000
"""Longer lines are split: ``read`` shows whole lines, and a page may have a single one."""
LIMITS = ConversionLimits(seconds=20.0, input=MAX_BYTES)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""Environment of the converter, without credentials."""
MAGIC = {
    b"%PDF-": "application/pdf",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
LEAST_TEXT = 80
"""Characters below which a page with scripts counts as empty."""
# Possessive quantifiers: backtracking over 1 kB of comments would take years.
_HTML = re.compile(
    rb"\s*+(?:<\?xml[^>]*>\s*+)?(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)


class Fetched(Record):
    """A response, with at most ``MAX_BYTES`` of its body."""

    url: str
    """The URL after redirects."""
    status: int
    content_type: str
    body: bytes
    cut: bool = False
    """Whether the body is longer than ``MAX_BYTES``."""


class Page(Record):
    """A page for the model."""

    url: str
    media_type: str
    text: str = ""
    image: Image | None = None
    notices: tuple[str, ...] = ()
    """Notes for the model, e.g. that the page was truncated."""

    @property
    def content(self) -> tuple[Text | Image, ...]:
        """The picture with its address; empty for texts."""
        if self.image is None:
            return ()
        return (Text(text=f"Picture from {self.url} [{self.media_type}]"), self.image)


async def page_of(fetched: Fetched, *, raw: bool = False) -> Page:
    """Convert a response to a page. Raises ``ToolFailed`` if it cannot be shown."""
    kind = media_type(fetched)
    notices = (f"[Only the first {MAX_BYTES >> 20} MB of the page were read.]",) * fetched.cut
    page = Page(url=fetched.url, media_type=kind, notices=notices)
    if kind.startswith("image/") and kind != "image/svg+xml":
        return _picture(page, fetched)
    if kind == "application/pdf":
        return await _document(page, fetched, "pdf")
    if not raw and kind in ("text/html", "application/xhtml+xml"):
        return await _html(page, fetched)
    if not raw and kind == NOTEBOOK:
        return await _document(page, fetched, "notebook")
    if _is_binary(fetched.body):
        size = f"{'more than ' * fetched.cut}{len(fetched.body):,} bytes"
        raise ToolFailed(
            f"{fetched.url} is binary ({kind}, {size}); download it with bash to look into it."
        )
    is_json = kind == "application/json" or kind.endswith("+json")
    text = decode(fetched)
    return _text(page, indent_json(text) if is_json and not raw else text)


def media_type(fetched: Fetched) -> str:
    """The media type of the server; if that is missing or vague, guessed from the first bytes."""
    named = fetched.content_type.partition(";")[0].strip().lower()
    path = fetched.url.partition("?")[0].lower()
    if path.endswith(".ipynb") and named in ("", "text/plain", "application/json", _UNKNOWN):
        return NOTEBOOK
    if named not in ("", "text/plain", _UNKNOWN, "binary/octet-stream"):
        return named
    return _sniff_type(fetched.body[:1024], named) or named or "text/plain"


def _sniff_type(head: bytes, named: str) -> str:
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    return "text/html" if named != "text/plain" and _HTML.match(head) else ""


_UNKNOWN = "application/octet-stream"
NOTEBOOK = "application/x-ipynb+json"


def decode(fetched: Fetched) -> str:
    """The text, decoded by byte order mark, charset of the server, or UTF-8."""
    data = fetched.body
    named = _CHARSET.search(fetched.content_type)
    charset = named[1] if named else "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        charset = "utf-8-sig"
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        charset = "utf-16"
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def indent_json(text: str) -> str:
    """JSON on several lines, so that parts of it can be read; other texts unchanged."""
    if text.count("\n") > len(text) // 200:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _text(page: Page, text: str) -> Page:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    short = (
        line[start : start + MAX_LINE]
        for line in lines
        for start in range(0, max(len(line), 1), MAX_LINE)
    )
    return Page(
        url=page.url, media_type=page.media_type, text="\n".join(short), notices=page.notices
    )


def _picture(page: Page, fetched: Fetched) -> Page:
    if fetched.cut:
        raise ToolFailed(f"The picture {page.url} is larger than {MAX_BYTES >> 20} MB.")
    data = base64.b64encode(fetched.body).decode()
    picture = Image(data=data, mime_type=page.media_type)
    return Page(url=page.url, media_type=page.media_type, image=picture)


async def _html(page: Page, fetched: Fetched) -> Page:
    named = _CHARSET.search(fetched.content_type)
    options = ConversionOptions(kind="html", url=fetched.url, charset=named[1] if named else "")
    document = await _convert(fetched, options)
    text, notices = document.text.strip("\n"), list(page.notices)
    if len(text) < LEAST_TEXT and b"<script" in fetched.body.lower():
        notices.append("[The page builds its text with JavaScript, which was not run.]")
    if document.truncated:
        notices.append(f"[The text was cut after {LIMITS.characters:,} characters.]")
    if document.title and document.title not in text[:500]:
        text = f"Title: {document.title}\n\n{text}"
    page = Page(url=page.url, media_type=page.media_type, notices=tuple(notices))
    return _text(page, text)


async def _document(page: Page, fetched: Fetched, kind: str) -> Page:
    if fetched.cut:
        raise ToolFailed(f"{page.url} is larger than {MAX_BYTES >> 20} MB; download it with bash.")
    options = ConversionOptions(kind="pdf" if kind == "pdf" else "notebook", url=fetched.url)
    document = await _convert(fetched, options)
    notices = list(page.notices)
    if document.pages is not None:
        notices.append(f"[{document.pages} pages]")
    if document.truncated:
        notices.append(f"[The text was cut after {LIMITS.characters:,} characters.]")
    page = Page(url=page.url, media_type=page.media_type, notices=tuple(notices))
    return _text(page, document.text or "(no text)")


async def _convert(fetched: Fetched, options: ConversionOptions) -> ConvertedDocument:
    try:
        return await convert_document(fetched.body, options, environ=ENVIRONMENT, limits=LIMITS)
    except ConversionFailed as error:
        message = f"{error.explain()} Add :raw to the address to read its source."
        raise ToolFailed(message) from error


def _is_binary(data: bytes) -> bool:
    head = data[:8192]
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))
