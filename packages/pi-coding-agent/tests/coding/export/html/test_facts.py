from __future__ import annotations

from pi.base.records import replace
from pi.coding.export.html.markup import Painter
from pi.coding.export.html.page import facts
from pi.coding.export.transcript import read_transcript
from tests.coding.export.sessions import HEADER, answered, chain, message


def test_an_empty_session_has_only_its_name_and_numbers() -> None:
    assert facts(read_transcript(HEADER, []), Painter()) == (
        f'<section id="facts"><h1>Session {HEADER.id}</h1><dl>'
        f"<div><dt>Session</dt><dd>{HEADER.id}</dd></div>"
        f"<div><dt>Started</dt><dd>{HEADER.timestamp}</dd></div>"
        "<div><dt>Directory</dt><dd>/home/ada/engine</dd></div>"
        "<div><dt>Entries</dt><dd>0</dd></div>"
        "<div><dt>Tokens</dt><dd>0 in 0 requests</dd></div>"
        "<div><dt>Cost</dt><dd>$0.0000</dd></div></dl></section>"
    )


def test_a_fork_shows_its_parent_session() -> None:
    forked = replace(HEADER, parent_session="/old/<file>.jsonl")

    head = facts(read_transcript(forked, []), Painter())

    assert "<div><dt>Forked from</dt><dd>/old/&lt;file&gt;.jsonl</dd></div>" in head


def test_the_usage_of_one_model_has_no_total_row() -> None:
    head = facts(read_transcript(HEADER, chain([message(answered("hi"))])), Painter())

    assert '<tr><th>mock/mock-r</th><td class="right">1</td>' in head
    assert "<th>All</th>" not in head
