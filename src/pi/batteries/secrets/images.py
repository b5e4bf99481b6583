"""Removes secrets from the metadata of pictures; pixels stay as they are. Pure."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator

from pi.batteries.secrets.vault import Vault

_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"eXIf"})
_MOST = 1_000_000
"""Bytes of a compressed text that are looked at."""


def clean_image(data: str, vault: Vault) -> str:
    """A picture in base64 without secrets in its metadata; unchanged if there are none."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):  # the provider rejects it with a better message
        return data
    clean = _clean_png(raw, vault) if raw.startswith(_PNG) else raw
    # Other formats have no checksums: the value is overwritten where it is.
    clean = vault.blanked(clean) if not clean.startswith(_PNG) else clean
    return data if clean == raw else base64.b64encode(clean).decode()


def _clean_png(raw: bytes, vault: Vault) -> bytes:
    kept = [chunk for kind, chunk in _chunks(raw) if not _is_secret(kind, chunk, vault)]
    return _PNG + b"".join(kept)


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_PNG)
    while place + 8 <= len(raw):
        size = int.from_bytes(raw[place : place + 4], "big")
        yield raw[place + 4 : place + 8], raw[place : place + 12 + size]
        place += 12 + size
    if place < len(raw):
        yield b"", raw[place:]


def _is_secret(kind: bytes, chunk: bytes, vault: Vault) -> bool:
    """Whether a chunk is dropped. A checksum covers it: overwriting a part would break it."""
    if kind not in _TEXTS and kind != b"":
        return False
    content = chunk[8:-4] if kind else chunk
    texts = [content, *_decompressed(content)]
    return any(
        vault.contains_known(text) or vault.redact(readable := text.decode("latin-1")) != readable
        for text in texts
    )


def _decompressed(content: bytes) -> Iterator[bytes]:
    # Keyword, NUL and flags precede the compressed text; its first byte is always 0x78.
    start = content.find(b"\x78")
    while start >= 0:
        try:
            yield zlib.decompressobj().decompress(content[start:], _MOST)
            return
        except zlib.error:
            start = content.find(b"\x78", start + 1)
