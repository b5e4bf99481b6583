"""QR codes of links. Pure.

They follow ISO 18004: byte mode, error correction level L, up to 425 bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

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
