from __future__ import annotations

from pi.batteries.timebox.core import effects
from pi.batteries.timebox.core.effects import Keep, Notify, RunOnStop
from pi.batteries.timebox.core.persist import Off


def test_effects_are_values() -> None:
    assert Notify("done", "info") == Notify("done", "info")
    assert Keep(Off(1)) != Keep(Off(2))
    assert RunOnStop("lmk").command == "lmk"


def test_every_effect_is_in_the_table_of_hosts() -> None:
    assert effects.__doc__ is not None
    for kind in (Keep, Notify, RunOnStop):
        assert f"``{kind.__name__}``" in effects.__doc__
