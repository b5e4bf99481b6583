from __future__ import annotations

import base64
import hashlib
import re
import time

import pytest

from pi.coding.export.html.page import render_page
from pi.coding.export.transcript import read_transcript
from tests.coding.export.sessions import HEADER, chain, long_session, message, sample, user_message
from tests.coding.export.snapshots import actual, recorded


def sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_sample_page_matches_its_snapshot() -> None:
    assert actual("sample.html") == recorded("sample.html")


def test_the_policy_allows_only_the_style_and_the_script_of_the_page() -> None:
    page = render_page(read_transcript(HEADER, sample()))
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)

    assert policy.replace("&#x27;", "'") == (
        f"default-src 'none'; script-src 'sha256-{sha256(script)}'; "
        f"style-src 'sha256-{sha256(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_style_and_script_are_the_same_in_every_page() -> None:
    fixed = re.compile(r"<(style|script)>.*?</\1>", re.DOTALL)
    one, other = (render_page(read_transcript(HEADER, entries)) for entries in (sample(), []))

    assert [m[0] for m in fixed.finditer(one)] == [m[0] for m in fixed.finditer(other)]


def test_placeholders_in_messages_are_not_substituted() -> None:
    page = render_page(
        read_transcript(HEADER, chain([message(user_message("{{script}} {{style}}"))]))
    )

    assert "<p>{{script}} {{style}}</p>" in page


@pytest.mark.behaviour("export-page-behaves")
def test_a_page_has_light_and_dark_colours_of_its_own_and_needs_no_theme() -> None:
    page = render_page(read_transcript(HEADER, []))

    colours = re.findall(r"--[\w-]+: ([^;]+);", page)
    assert len(colours) > 10
    assert all(re.fullmatch(r"light-dark\(#\w+, #\w+\)", colour) for colour in colours)


@pytest.mark.full
def test_five_thousand_entries_are_rendered_within_seconds() -> None:
    transcript = read_transcript(HEADER, long_session(5000))
    begin = time.process_time()

    page = render_page(transcript)

    assert (len(page) < 10_000_000, time.process_time() - begin < 15) == (True, True)
