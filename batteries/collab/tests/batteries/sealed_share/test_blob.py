"""Sealed shares: what is left out, and the encryption."""

from __future__ import annotations

import base64
import gzip
import json
import random
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pi.base.errors import PiError
from pi.batteries.sealed_share.adapter import TooLarge, branch, fit, seal, server_address, summary

HEADER = {"type": "session", "id": "s"}


def noise(length: int, seed: int = 0) -> str:
    return base64.b64encode(random.Random(seed).randbytes(length)).decode()


def entry(number: int, *content: Any) -> dict[str, Any]:
    parent = f"e{number - 1}" if number else None
    message = {"role": "user", "content": list(content)}
    return {"type": "message", "id": f"e{number}", "parentId": parent, "message": message}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def image(data: str) -> dict[str, str]:
    return {"type": "image", "mimeType": "image/png", "data": data}


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(data).decode().split("\n")]


def test_only_the_branch_is_shared() -> None:
    entries = [entry(0), entry(1), {**entry(2), "parentId": "e0"}, {"id": "x", "parentId": "x"}]
    assert [each["id"] for each in branch(entries, "e2")] == ["e0", "e2"]
    assert [each["id"] for each in branch(entries, "x")] == ["x"]
    assert branch(entries, None) == []


def test_a_session_that_fits_is_shared_completely() -> None:
    content = fit(HEADER, [entry(0, text("hi"), image("AAAA"))])
    assert (content.entries, content.images, content.dropped_images) == (1, 1, 0)
    assert lines(content.data) == [HEADER, entry(0, text("hi"), image("AAAA"))]


def test_pictures_then_long_texts_then_old_entries_are_dropped() -> None:
    pictures = [entry(0, text("hi"), image(noise(40_000)))]
    content = fit(HEADER, pictures, 20_000)
    assert (content.dropped_images, content.shortened, content.dropped_entries) == (1, 0, 0)
    assert "picture was left out" in lines(content.data)[1]["message"]["content"][1]["text"]

    long = [entry(0, text(noise(60_000)), image(noise(10))), entry(1, text("end"))]
    content = fit(HEADER, long, 20_000)
    assert (content.dropped_images, content.shortened, content.dropped_entries) == (1, 10_000, 0)

    many = [entry(number, text(noise(1_400, number))) for number in range(60)]
    content = fit(HEADER, many, 20_000)
    assert content.dropped_entries > 30
    assert content.entries == 60 - content.dropped_entries
    shown = lines(content.data)
    assert shown[-1]["id"] == "e59"
    assert shown[1]["parentId"] is None
    assert len(content.data) <= 20_000
    with pytest.raises(TooLarge):
        fit(HEADER, many, 200)


def test_a_blob_opens_with_the_key_of_the_link_only() -> None:
    blob, key = seal(b"data")
    raw = base64.urlsafe_b64decode(key + "=")
    assert blob[:1] == b"\x01"
    assert AESGCM(raw).decrypt(blob[1:13], blob[13:], b"pi-share-1") == b"data"
    assert seal(b"data")[1] != key


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://relay.example/s/", "https://relay.example/s"),
        ("relay.example/s", "https://relay.example/s"),
        ("http://127.0.0.1:1/s", "http://127.0.0.1:1/s"),
    ],
)
def test_server_addresses_are_normalised(given: str, expected: str) -> None:
    assert server_address(given) == expected


@pytest.mark.parametrize(
    "given", ["", None, "http://relay.example/s", "ftp://x/s", "https://x/s?a#b"]
)
def test_invalid_server_addresses_are_rejected(given: str | None) -> None:
    with pytest.raises(PiError):
        server_address(given)


def test_the_confirmation_describes_the_shared_content() -> None:
    content = fit(HEADER, [entry(0, text("hi"))])
    asked = summary(content, "https://relay.example/s", days=7, redacts=False, secrets=2)
    assert "relay.example for 7 days" in asked
    assert "NOT redacted" in asked
