"""Which models are cycled through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.model_scope import Scope

NAMES = ("a/1", "a/2", "b/1")
ALL = Scope(all=NAMES)


def test_the_first_toggle_leaves_only_that_model_on() -> None:
    one = ALL.toggled("a/2")
    assert [one.is_on(name) for name in NAMES] == [False, True, False]
    assert one.listed == ("a/2", "a/1", "b/1")


def test_toggling_a_model_twice_leaves_no_model_chosen() -> None:
    assert ALL.toggled("a/1").toggled("a/1").chosen == ()


def test_a_provider_is_switched_as_a_whole() -> None:
    assert ALL.with_provider_toggled("a").chosen == ("b/1",)
    assert Scope(all=NAMES, chosen=("b/1",)).with_provider_toggled("a").chosen == (
        "b/1",
        "a/1",
        "a/2",
    )


def test_models_that_are_on_are_moved_and_others_are_not() -> None:
    scope = Scope(all=NAMES, chosen=("a/1", "b/1"))
    assert scope.moved("b/1", -1).chosen == ("b/1", "a/1")
    assert scope.moved("b/1", 1).chosen == ("a/1", "b/1")
    assert scope.moved("a/2", 1) == scope
    assert ALL.moved("b/1", -2).chosen == ("b/1", "a/1", "a/2")


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(NAMES)), max_size=12))
def test_every_model_is_listed_once_after_any_actions(steps: list[tuple[int, str]]) -> None:
    scope = ALL
    for act, name in steps:
        scope = (
            scope.toggled(name),
            scope.with_all(),
            scope.with_none(),
            scope.with_provider_toggled(name[0]),
            scope.moved(name, 1),
        )[act]
        assert sorted(scope.listed) == sorted(NAMES)
