"""Links to shared sessions: parsing, writing, and their QR codes. Pure.

QR codes follow ISO 18004: byte mode, error correction level L, up to 425 bytes.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from pi.batteries.collab.sealing import VERSION, Keys
from pi.extension import PiError, Record

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SEPARATOR = re.compile(r"\.|#|%23")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_FORM = "ROOM.5.SECRET, RELAY/r/ROOM.5.SECRET or https://RELAY/#ROOM.5.SECRET"


class BadLink(PiError):
    """A link that cannot be used."""


class Link(Record):
    """A room at a relay, with the secrets to read and, for full links, to write."""

    relay: str
    """``ws://host[:port]`` or ``wss://host[:port]``, maybe with a path prefix."""
    keys: Keys

    @property
    def room(self) -> str:
        """The id of the room as text."""
        return encode(self.keys.room)

    @property
    def code(self) -> str:
        """Room, version and secret."""
        return f"{self.room}.{VERSION}.{encode(self.keys.key + self.keys.token)}"

    def text(self) -> str:
        """The link for ``/join``, with its relay."""
        base = self.relay.removeprefix("wss://")
        if relay_address(base) != self.relay:  # TLS on this machine, where plain ws is the default
            base = self.relay
        return f"{base}/r/{self.code}"

    def page(self, web: str = "") -> str:
        """The link for a browser; ``web`` is the address of the page, by default the relay."""
        base = web.rstrip("/") or "http" + self.relay.removeprefix("ws")
        return f"{base}/#{self.code}"

    def view_only(self) -> Link:
        """The link for viewers."""
        return Link(relay=self.relay, keys=self.keys.view_only())


def encode(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """The bytes of base64url without padding; raises ``ValueError``."""
    if not _WORD.fullmatch(text):
        raise ValueError("not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    if encode(data) != text:  # a spelling that another decoder may read differently
        raise ValueError("not canonical base64url")
    return data


def parse_link(text: str, default_relay: str = "") -> Link:
    """Parse a link; raises ``BadLink``, whose message never contains the secret."""
    link = text.strip().strip("\"'<>")
    if "://" not in link and "/" not in link:
        keys = _keys(link)  # first: a text that is no link has no relay either
        if not default_relay:
            raise BadLink(
                "The link names no relay.", hint="Set collab.relayUrl, or use RELAY/r/LINK."
            )
        return Link(relay=relay_address(default_relay), keys=keys)
    for marker in ("/r/", "/#", "/%23"):
        base, separator, code = link.partition(marker)
        if separator:
            return Link(relay=relay_address(base), keys=_keys(code))
    raise BadLink("This is not a link to a shared session.", hint=f"Links look like {_FORM}.")


def relay_address(text: str) -> str:
    """The WebSocket address for a relay as a user writes it; raises ``BadLink``."""
    address = text.strip().rstrip("/")
    if "://" not in address:
        host = urlsplit(f"//{address}").hostname or ""
        # There are no certificates for this machine.
        address = f"{'ws' if host in LOCAL_HOSTS else 'wss'}://{address}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadLink(f"Invalid address of a relay: {text}") from error
    scheme = {"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not host or parts.query or parts.fragment or parts.username:
        raise BadLink(
            f"Invalid address of a relay: {text}", hint="Use relay.example.com or wss://…."
        )
    if scheme == "ws" and host not in LOCAL_HOSTS:
        raise BadLink(
            f"The relay {host} would be used without TLS.",
            hint="Plain ws:// is allowed for localhost only; put a TLS proxy before the relay.",
        )
    bracketed = f"[{host}]" if ":" in host else host
    return f"{scheme}://{bracketed}{'' if port is None else f':{port}'}{parts.path}"


def _keys(code: str) -> Keys:
    parts = _SEPARATOR.split(code.strip("/"))
    if len(parts) == 2:
        raise BadLink(
            f"The link is of protocol version 4; this pi speaks version {VERSION}.",
            hint="Ask the host for a new link, from a pi of this version.",
        )
    if len(parts) != 3:
        raise BadLink("This is not a link to a shared session.", hint=f"Links look like {_FORM}.")
    room_text, version, secret = parts
    if version != str(VERSION):
        raise BadLink(
            f"The link is of protocol version {version[:8]}; this pi speaks version {VERSION}.",
            hint="Host and guest need the same version: update the older pi.",
        )
    try:
        room_id, data = decode(room_text), decode(secret)
    except ValueError:
        raise BadLink("The link is damaged.", hint="Copy it once more, as a whole.") from None
    if len(room_id) != 16 or len(data) not in (32, 48):
        raise BadLink("The link is incomplete.", hint="Copy it once more, as a whole.")
    return Keys(room=room_id, key=data[:32], token=data[32:])


Matrix: TypeAlias = list[list[bool]]

_BLOCKS: Sequence[tuple[int, tuple[int, ...]]] = (
    (7, (19,)),
    (10, (34,)),
    (15, (55,)),
    (20, (80,)),
    (26, (108,)),
    (18, (68, 68)),
    (20, (78, 78)),
    (24, (97, 97)),
    (30, (116, 116)),
    (18, (68, 68, 69, 69)),
    (20, (81,) * 4),
    (24, (92, 92, 93, 93)),
    (26, (107,) * 4),
)
"""For each version: error-correction bytes of a block, and data bytes of each block."""

_EXP = [1] * 255
for _power in range(1, 255):
    _EXP[_power] = (_EXP[_power - 1] << 1) ^ (0x11D if _EXP[_power - 1] & 128 else 0)
_LOG = {value: power for power, value in enumerate(_EXP)}


def encode_qr(data: bytes) -> Matrix:
    """The modules of the smallest code for ``data`` without a margin; True is dark.

    Raises ``ValueError`` if the data is too long.
    """
    version = next(
        (n + 1 for n, (_, blocks) in enumerate(_BLOCKS) if _fits(n + 1, len(data), sum(blocks))),
        None,
    )
    if version is None:
        raise ValueError("too long for a QR code")
    bits = _codeword_bits(version, data)
    codes = (_drawn(version, bits, mask) for mask in range(8))
    return min(codes, key=_penalty)


def half_blocks(matrix: Matrix, margin: int = 2) -> list[str]:
    """The code as text, two rows of modules per line, for light text on a dark background."""
    size = len(matrix) + 2 * margin
    light = [[True] * size for _ in range(size + size % 2)]
    for row, line in enumerate(matrix):
        for column, dark in enumerate(line):
            light[row + margin][column + margin] = not dark
    signs = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
    pairs = zip(light[::2], light[1::2], strict=True)
    return ["".join(signs[pair] for pair in zip(*rows, strict=True)) for rows in pairs]


# Data ---------------------------------------------------------------------------------------------


def _fits(version: int, length: int, capacity: int) -> bool:
    return length + (2 if version < 10 else 3) <= capacity


def _codeword_bits(version: int, data: bytes) -> list[int]:
    correction, sizes = _BLOCKS[version - 1]
    length_bits = 8 if version < 10 else 16
    text = f"0100{len(data):0{length_bits}b}" + "".join(f"{byte:08b}" for byte in data)
    total = sum(sizes)
    text += "0" * min(4, total * 8 - len(text))
    text += "0" * (-len(text) % 8)
    codewords = [int(text[offset : offset + 8], 2) for offset in range(0, len(text), 8)]
    codewords += [(0xEC, 0x11)[n % 2] for n in range(total - len(codewords))]
    blocks, offset = [], 0
    for size in sizes:
        blocks.append(codewords[offset : offset + size])
        offset += size
    checks = [_correction(block, correction) for block in blocks]
    longest = max(sizes)
    mixed = [block[n] for n in range(longest) for block in blocks if n < len(block)]
    mixed += [check[n] for n in range(correction) for check in checks]
    return [word >> bit & 1 for word in mixed for bit in range(7, -1, -1)]


def _correction(block: Sequence[int], count: int) -> list[int]:
    """Reed-Solomon: the remainder of the block by the generator polynomial."""
    generator = [1]
    for power in range(count):
        generator = [
            a ^ _times(b, _EXP[power])
            for a, b in zip([*generator, 0], [0, *generator], strict=True)
        ]
    rest = [*block, *([0] * count)]
    for index in range(len(block)):
        if factor := rest[index]:
            for offset, value in enumerate(generator):
                rest[index + offset] ^= _times(value, factor)
    return rest[-count:]


def _times(a: int, b: int) -> int:
    return _EXP[(_LOG[a] + _LOG[b]) % 255] if a and b else 0


# Modules ------------------------------------------------------------------------------------------


def _drawn(version: int, bits: Sequence[int], mask: int) -> Matrix:
    size = version * 4 + 17
    code: list[list[bool | None]] = [[None] * size for _ in range(size)]
    for row, column in ((0, 0), (0, size - 7), (size - 7, 0)):
        _square(code, row + 3, column + 3, (0, 1, 3), 4)
    centres = _centres(version)
    for row in centres:
        for column in centres:
            if code[row][column] is None:
                _square(code, row, column, (0, 2), 2)
    for index in range(8, size - 8):
        code[6][index] = code[index][6] = index % 2 == 0
    _format(code, mask)
    if version >= 7:
        _version(code, version)
    values = iter(bits)
    for row, column in _zigzag(size):
        if code[row][column] is None:
            code[row][column] = bool(next(values, 0)) ^ _masked(mask, row, column)
    return [[bool(module) for module in line] for line in code]


def _centres(version: int) -> list[int]:
    if version == 1:
        return []
    count, last = version // 7 + 2, version * 4 + 10
    step = (last - 6 + (count - 1) * 2 - 1) // ((count - 1) * 2) * 2
    return [6, *(last - step * n for n in range(count - 2, -1, -1))]


def _square(
    code: list[list[bool | None]], row: int, column: int, dark: Sequence[int], reach: int
) -> None:
    """A finder or alignment pattern: rings around a centre."""
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if 0 <= row + down < len(code) and 0 <= column + right < len(code):
                ring = max(abs(down), abs(right))
                code[row + down][column + right] = ring in dark


def _format(code: list[list[bool | None]], mask: int) -> None:
    size, value = len(code), 1 << 3 | mask  # level L
    rest = value
    for _ in range(10):
        rest = rest << 1 ^ (rest >> 9) * 0x537
    bits = (value << 10 | rest) ^ 0x5412
    for index in range(15):
        dark = bool(bits >> index & 1)
        row = index if index < 6 else index + 1 if index < 8 else size - 15 + index
        column = size - 1 - index if index < 8 else 7 if index == 8 else 14 - index
        code[row][8] = code[8][column] = dark
    code[size - 8][8] = True


def _version(code: list[list[bool | None]], version: int) -> None:
    rest = version
    for _ in range(12):
        rest = rest << 1 ^ (rest >> 11) * 0x1F25
    bits = version << 12 | rest
    for index in range(18):
        row, column = index // 3, len(code) - 11 + index % 3
        code[row][column] = code[column][row] = bool(bits >> index & 1)


def _zigzag(size: int) -> Iterator[tuple[int, int]]:
    upwards = True
    for right in (*range(size - 1, 6, -2), *range(5, 0, -2)):
        for row in range(size - 1, -1, -1) if upwards else range(size):
            yield row, right
            yield row, right - 1
        upwards = not upwards


def _masked(mask: int, row: int, column: int) -> bool:
    product = row * column
    return (
        (row + column) % 2,
        row % 2,
        column % 3,
        (row + column) % 3,
        (row // 2 + column // 3) % 2,
        product % 2 + product % 3,
        (product % 2 + product % 3) % 2,
        ((row + column) % 2 + product % 3) % 2,
    )[mask] == 0


def _penalty(code: Matrix) -> int:
    """The penalty of a mask by rules 1 to 4 of the standard; a low one is easy to scan."""
    total = 0
    turned = [list(column) for column in zip(*code, strict=True)]
    for line in (*code, *turned):
        text = "".join("1" if dark else "0" for dark in line)
        for run in text.replace("10", "1 0").replace("01", "0 1").split():
            total += len(run) - 2 if len(run) >= 5 else 0
        for pattern in ("10111010000", "00001011101"):
            total += 40 * sum(text.startswith(pattern, index) for index in range(len(text) - 10))
    for above, below in itertools.pairwise(code):
        for index in range(len(code) - 1):
            square = above[index] + above[index + 1] + below[index] + below[index + 1]
            total += 3 if square in (0, 4) else 0
    dark = sum(map(sum, code)) * 100 // len(code) ** 2
    return total + abs(dark - 50) // 5 * 10
