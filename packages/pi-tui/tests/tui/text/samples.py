"""Texts that are hard to measure, shared by the tests of ``pi.tui.text``."""

from __future__ import annotations

from hypothesis import strategies as st

TRICKY = (
    "👨👩👧\u200d🇩🇪🏳️🌈👍🏽❤️1\u20e3#\ufe0e日本語、。「」한글ᄀ각"
    "กำ็ນຳนमस्ते\u094dक्षि\u0600\u06ddع\u064be\u0301\u200b\u00ad☺"
)

SEQUENCES = (
    "\x1b[1m",
    "\x1b[22m",
    "\x1b[31m",
    "\x1b[38;5;99m",
    "\x1b[48;2;1;2;3m",
    "\x1b[38:2::1:2:3m",
    "\x1b[4:3m",
    "\x1b[39;49m",
    "\x1b[0m",
    "\x1b[m",
    "\x1b]8;;https://example.org\x07",
    "\x1b]8;id=1;https://example.org\x1b\\",
    "\x1b]8;;\x07",
    "\x1b_pi:c\x07",
    "\x1b[2K",
)

plain_line = st.text(
    st.one_of(
        st.sampled_from("ab  "),
        st.sampled_from(TRICKY),
        st.characters(exclude_categories=("Cc", "Cs")),
    ),
    max_size=40,
)
"""One line without escape sequences or tabs."""

styled_line = st.lists(
    st.one_of(st.sampled_from("abc d日本é👍"), st.sampled_from(SEQUENCES)), max_size=40
).map("".join)

widths = st.integers(min_value=1, max_value=30)
