"""Removes texts with secrets from pictures."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator

from pi.batteries.secrets.vault import Vault

_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"eXIf"})
_MOST = 1_000_000
"""Bytes of a compressed text that are checked."""


def clean_image(data: str, vault: Vault) -> str:
    """A picture in base64 without secrets in its metadata; ``data`` itself if there are none."""
    try:
        # Some servers break the lines, which providers accept.
        raw = base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):  # the provider rejects it with a better message
        return data
    clean = _clean_png(raw, vault) if raw.startswith(_PNG) else raw
    # Other formats have no checksums: values are overwritten in place.
    clean = vault.blanked(clean) if not clean.startswith(_PNG) else clean
    return data if clean == raw else base64.b64encode(clean).decode()


def _clean_png(raw: bytes, vault: Vault) -> bytes:
    chunks = [chunk for kind, chunk in _chunks(raw) if not _is_secret(kind, chunk, vault)]
    return _PNG + b"".join(chunks)


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    offset = len(_PNG)
    while offset + 8 <= len(raw):
        size = int.from_bytes(raw[offset : offset + 4], "big")
        yield raw[offset + 4 : offset + 8], raw[offset : offset + 12 + size]
        offset += 12 + size
    if offset < len(raw):
        yield b"", raw[offset:]


def _is_secret(kind: bytes, chunk: bytes, vault: Vault) -> bool:
    """Whether a chunk has a secret. It is dropped: overwriting would break its checksum."""
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
