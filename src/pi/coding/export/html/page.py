"""A transcript as one self-contained page."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from pi.coding.export.html.articles import Articles
from pi.coding.export.html.code import Painter
from pi.coding.export.html.facts import facts
from pi.coding.export.html.markup import Html, esc, join, tag
from pi.coding.export.outline import Row, outline
from pi.coding.export.transcript import Transcript

DEEPEST = 6
"""Forks by which a row of the outline is indented at most."""

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class _Sheets(NamedTuple):
    """The fixed part of every page."""

    template: str
    style: str
    script: str
    policy: str


def render_page(transcript: Transcript) -> str:
    """The transcript as an HTML page that needs no network and runs no script but its own."""
    sheets, painter, rows = _sheets(), Painter(), outline(transcript)
    shown = set(transcript.branch())
    values = {
        "policy": esc(sheets.policy),
        "style": sheets.style,
        "script": sheets.script,
        "title": esc(transcript.title),
        "outline": join(_link(row, here=row.node in shown) for row in rows.values()),
        "parents": " ".join(str(node.parent) for node in transcript.nodes),
        "leaf": str(transcript.leaf),
        "facts": facts(transcript, painter),
        "articles": Articles(transcript, rows, painter).all(),
    }
    return _PLACEHOLDER.sub(lambda name: values[name[1]], sheets.template)


def _link(row: Row, *, here: bool) -> Html:
    classes = (row.kind, f"d{min(row.depth, DEEPEST)}", "here" if here else "")
    return tag(
        "a",
        esc(row.text or row.kind),
        href=f"#n{row.node}",
        data_go=row.node,
        class_=" ".join(filter(None, classes)),
    )


@cache
def _sheets() -> _Sheets:
    folder = files(__package__)
    template, style, script = (
        folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _Sheets(template, style, script, policy)


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
