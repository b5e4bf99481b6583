from __future__ import annotations

from pi.tui.images.graphics import ImageBudget


def test_the_oldest_image_is_evicted_when_the_budget_is_exceeded() -> None:
    budget = ImageBudget(2)

    gone = [budget.admit(number) for number in (1, 2, 3)]

    assert gone == [[], [], [1]]
    assert [budget.is_live(number) for number in (1, 2, 3)] == [False, True, True]
    assert [budget.is_known(number) for number in (1, 4)] == [True, False]


def test_a_budget_of_zero_shows_nothing() -> None:
    budget = ImageBudget(0)

    assert (budget.admit(1), budget.is_live(1), budget.is_known(1)) == ([], False, True)
