from __future__ import annotations

import msgspec

from pi.coding.port.remote import FeedItem


def test_a_step_is_the_same_at_both_ends_of_a_wire() -> None:
    item = FeedItem(seq=7, kind="leaf", data="a1")

    assert msgspec.json.encode(item) == b'{"seq":7,"kind":"leaf","data":"a1"}'
    assert msgspec.json.decode(msgspec.json.encode(item), type=FeedItem) == item
