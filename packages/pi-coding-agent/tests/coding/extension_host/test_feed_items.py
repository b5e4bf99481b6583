from __future__ import annotations

import msgspec

from pi.coding.port.remote import FeedItem


def test_a_feed_item_is_unchanged_after_encoding_and_decoding() -> None:
    item = FeedItem(seq=7, kind="leaf", data="a1")

    assert msgspec.json.encode(item) == b'{"seq":7,"kind":"leaf","data":"a1"}'
    assert msgspec.json.decode(msgspec.json.encode(item), type=FeedItem) == item
