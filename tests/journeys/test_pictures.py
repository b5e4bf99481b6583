"""Pictures that the model reads."""

from __future__ import annotations

import base64
import json
import struct
import zlib

from tests.journeys.program import Journey


def _chunk(name: bytes, content: bytes, flaw: int = 0) -> bytes:
    checksum = zlib.crc32(name + content) ^ flaw
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def test_a_picture_with_a_wrong_checksum_in_a_text_is_sent_unchanged(journey: Journey) -> None:
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    flawed = _chunk(b"tEXt", b"Title\0a picture", flaw=1)
    pixels = _chunk(b"IDAT", zlib.compress(b"\0" + bytes(6) + b"\0" + bytes(6)))
    picture = b"\x89PNG\r\n\x1a\n" + header + flawed + pixels + _chunk(b"IEND", b"")
    (journey.home.cwd / "flawed.png").write_bytes(picture)
    journey.home.use_model(journey.model, input=["text", "image"])
    journey.model.calls("read", path="flawed.png")
    assert journey.pi("-p", "look at it").code == 0

    assert base64.b64encode(picture).decode() in json.dumps(journey.model.last)
