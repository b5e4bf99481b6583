from __future__ import annotations

from pi.modes.interactive.status.activity import FRAMES, TICK, Spinner


def test_frames_alternate() -> None:
    indicator = Spinner(frames=("a", "b"), interval=2.0)

    assert [indicator.frame(now) for now in (0.0, 1.9, 2.0, 4.0)] == ["a", "a", "b", "a"]
    assert Spinner().frame(TICK) == FRAMES[1]


def test_without_frames_nothing_moves() -> None:
    assert Spinner(frames=()).frame(1.0) == ""
