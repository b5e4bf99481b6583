from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.export.html.markup import link, picture, picture_url
from tests.coding.export.sessions import PNG


@pytest.mark.behaviour("export-is-escaped")
@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://a.example/b?c#d", "https://a.example/b?c#d"),
        ("HTTP://a.example", "HTTP://a.example"),
        ("mailto:ada@a.example", "mailto:ada@a.example"),
        (" \x01https://a.example\n", "https://a.example"),
        ("ht\ttps://a.example", "https://a.example"),
        ("javascript:hit()", ""),
        ("JaVaScRiPt:hit()", ""),
        ("java\tscript:hit()", ""),
        ("java\x00script:hit()", ""),
        ("\u200bjavascript:hit()", ""),
        ("\x1fjavascript:hit()", ""),
        ("vbscript:x", ""),
        ("data:text/html,<script>", ""),
        ("file:///etc/passwd", ""),
        ("//a.example/x", ""),
        ("src/engine.py", ""),
        ("#n3", ""),
        ("", ""),
    ],
)
def test_only_addresses_of_the_web_and_of_mail_are_links(address: str, expected: str) -> None:
    assert link(address) == expected


@given(st.text())
def test_a_link_begins_with_an_allowed_scheme_or_is_none(address: str) -> None:
    rendered = link(address).lower()

    assert not rendered or rendered.startswith(("http:", "https:", "mailto:"))


@pytest.mark.behaviour("export-is-escaped")
@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (PNG, "image/png", f"data:image/png;base64,{PNG}"),
        (f"{PNG[:20]}\n{PNG[20:]}", " IMAGE/PNG ", f"data:image/png;base64,{PNG}"),
        (PNG, "image/jpeg", ""),
        (PNG, 'image/png" onerror="hit()', ""),
        (PNG, "image/svg+xml", ""),
        (PNG, "text/html", ""),
        (f'{PNG}" onerror="hit()', "image/png", ""),
        ("blob:sha256:abc", "image/png", ""),
        ("é", "image/png", ""),
        ("", "image/png", ""),
    ],
)
def test_only_valid_images_are_shown(data: str, kind: str, expected: str) -> None:
    assert picture(data, kind) == expected


def test_the_usual_kinds_of_pictures_are_shown() -> None:
    beginnings = {"image/gif": b"GIF89a", "image/jpeg": b"\xff\xd8\xff\xe0", "image/webp": b"RIFF"}

    for kind, content in beginnings.items():
        data = base64.b64encode(content).decode()
        assert picture(data, kind) == f"data:{kind};base64,{data}"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"data:image/png;base64,{PNG}", f"data:image/png;base64,{PNG}"),
        ("data:image/svg+xml;base64,PHN2Zz4=", ""),
        ("https://a.example/x.png", ""),
        ("javascript:hit()", ""),
    ],
)
def test_images_in_data_urls_are_validated(address: str, expected: str) -> None:
    assert picture_url(address) == expected
