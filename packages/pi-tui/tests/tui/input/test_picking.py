from __future__ import annotations

import pytest

from pi.tui.input.keys import find_key


@pytest.mark.parametrize(
    ("data", "rest", "presses"),
    [
        (b"", b"", 0),
        (b"plain text", b"plain text", 0),
        (b"a\x03b", b"ab", 1),
        (b"\x03\x03", b"", 2),
        (b"\x1b[99;5u", b"", 1),
        (b"\x1b[99;5u\x1b[99;5:3ux", b"x", 1),
        (b"\x1b[27;5;99~", b"", 1),
        (b"\x1b[1089::99;5u", b"", 1),
        (b"\x1b[A\x1b[100;5u\x1b[27;5;100~", b"\x1b[A\x1b[100;5u\x1b[27;5;100~", 0),
        ("größe\x03".encode(), "größe".encode(), 1),
    ],
)
def test_a_key_is_removed_in_every_encoding_and_all_other_input_is_kept(
    data: bytes, rest: bytes, presses: int
) -> None:
    assert find_key(data, "ctrl+c") == (rest, presses)
