"""How a network may cut bytes into reads, as a hypothesis strategy."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st


def splits(raw: bytes) -> st.SearchStrategy[list[bytes]]:
    """Any number of non-empty pieces that together are ``raw``."""
    cuts = st.lists(st.integers(1, max(len(raw) - 1, 1)), max_size=20).map(sorted)
    return cuts.map(
        lambda chosen: [
            raw[start:end] for start, end in pairwise([0, *chosen, len(raw)]) if start < end
        ]
    )
