from __future__ import annotations

from pi.tui.screen.history import Checkpoint, Checkpoints, Ledger
from pi.tui.screen.rows import Caret


def after(committed: int) -> Checkpoint:
    return Checkpoint(
        ledger=Ledger(committed=committed, top=committed),
        rows=("row",),
        boundary=1,
        staying=None,
        window=("row",),
        cursor=Caret(0, 0),
        is_covered=False,
    )


def recorded(*committed: int) -> Checkpoints:
    checkpoints = Checkpoints()
    for number in committed:
        checkpoints.record(after(number))
    return checkpoints


def test_a_terminal_that_never_answers_is_trusted() -> None:
    checkpoints = recorded(1, 2)
    assert checkpoints.last_good() is None

    checkpoints.begin(after(2))
    checkpoints.record(after(3))

    assert checkpoints.last_good() is None


def test_a_terminal_that_always_reports_another_size_is_trusted() -> None:
    checkpoints = recorded(1, 2)
    checkpoints.begin(after(2))
    checkpoints.record(after(3))

    checkpoints.acknowledge(fits=False)

    assert checkpoints.last_good() is None


def test_frames_taken_at_their_size_are_good() -> None:
    checkpoints = recorded(1, 2)

    for _ in range(3):  # one more than the number of queries
        checkpoints.acknowledge(fits=True)

    assert checkpoints.last_good() is None


def test_the_last_good_frame_precedes_the_first_misplaced_one() -> None:
    checkpoints = recorded(1, 2, 3, 4)

    for fits in (True, True, False, True):
        checkpoints.acknowledge(fits=fits)

    assert checkpoints.last_good() == after(2)


def test_a_frame_without_a_reply_may_be_misplaced() -> None:
    checkpoints = recorded(1, 2)

    checkpoints.acknowledge(fits=True)

    assert checkpoints.last_good() == after(1)


def test_discarded_history_has_no_checkpoint() -> None:
    checkpoints = recorded(5, 6, 7)
    checkpoints.acknowledge(fits=True)

    checkpoints.cut(3)
    good = checkpoints.last_good()
    assert (good and good.ledger) == Ledger(committed=3, top=5)
    checkpoints.acknowledge(fits=True)
    good = checkpoints.last_good()

    assert (good and good.ledger) == Ledger(committed=3, top=6)


def test_begin_drops_all_checkpoints() -> None:
    checkpoints = recorded(1, 2)
    checkpoints.acknowledge(fits=True)
    checkpoints.acknowledge(fits=False)

    checkpoints.begin(after(2))
    assert checkpoints.last_good() is None
    checkpoints.record(after(3))
    checkpoints.acknowledge(fits=False)

    assert checkpoints.last_good() == after(2)
