from __future__ import annotations

from pi.tui.images import protocols
from pi.tui.images.protocols import CellExtent


def test_a_picture_is_sent_with_its_size_and_name() -> None:
    assert protocols.show("AAAA", CellExtent(4, 2), size=3, name="a;b.png") == (
        "\x1b]1337;File=inline=1;size=3;width=4;height=2;preserveAspectRatio=1;name=YTtiLnBuZw==:AAAA\x07"
    )


def test_a_picture_needs_no_name() -> None:
    assert ";name=" not in protocols.show("AAAA", CellExtent(4, 2), size=3)
