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


def asked(*committed: int) -> Checkpoints:
    checkpoints = Checkpoints()
    for number in committed:
        checkpoints.ask(after(number))
    return checkpoints


def test_a_terminal_that_never_answers_is_trusted() -> None:
    checkpoints = asked(1, 2)
    assert checkpoints.last_good() is None

    checkpoints.begin(after(2))
    checkpoints.ask(after(3))

    assert checkpoints.last_good() is None


def test_a_terminal_that_always_tells_another_size_is_trusted() -> None:
    checkpoints = asked(1, 2)
    checkpoints.begin(after(2))
    checkpoints.ask(after(3))

    checkpoints.answer(fits=False)

    assert checkpoints.last_good() is None


def test_nothing_is_wrong_when_all_frames_were_taken_at_their_size() -> None:
    checkpoints = asked(1, 2)

    for _ in range(3):  # one more than was asked
        checkpoints.answer(fits=True)

    assert checkpoints.last_good() is None


def test_the_way_leads_back_to_the_frame_before_the_first_that_went_astray() -> None:
    checkpoints = asked(1, 2, 3, 4)

    for fits in (True, True, False, True):
        checkpoints.answer(fits=fits)

    assert checkpoints.last_good() == after(2)


def test_a_frame_without_an_answer_may_have_gone_astray() -> None:
    checkpoints = asked(1, 2)

    checkpoints.answer(fits=True)

    assert checkpoints.last_good() == after(1)


def test_what_was_cut_off_history_is_not_gone_back_to() -> None:
    checkpoints = asked(5, 6, 7)
    checkpoints.answer(fits=True)

    checkpoints.cut(3)
    good = checkpoints.last_good()
    assert (good and good.ledger) == Ledger(committed=3, top=5)
    checkpoints.answer(fits=True)
    good = checkpoints.last_good()

    assert (good and good.ledger) == Ledger(committed=3, top=6)


def test_a_new_beginning_forgets_all_frames() -> None:
    checkpoints = asked(1, 2)
    checkpoints.answer(fits=True)
    checkpoints.answer(fits=False)

    checkpoints.begin(after(2))
    assert checkpoints.last_good() is None
    checkpoints.ask(after(3))
    checkpoints.answer(fits=False)

    assert checkpoints.last_good() == after(2)
