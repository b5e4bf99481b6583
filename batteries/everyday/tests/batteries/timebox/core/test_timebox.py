from __future__ import annotations

from pi.batteries.timebox.core.budget import TimeboxBudget
from pi.batteries.timebox.core.persist import Active, Notify, Off, RunOnStop, SaveRecord
from pi.batteries.timebox.core.timebox import EXPIRED, FOREIGN, USAGE, WRAP_UP, Timebox
from tests.batteries.timebox.core.budgets import MINUTE, START, at, budget

QUARTER = budget(time=15 * MINUTE)
KNOWN = {"lmk done"}.__contains__
SPENT = "Timebox budget spent. Used 5 turns, 1m 0s."


def _refusal(box: Timebox) -> str | None:
    return box.refusal


def test_setting_a_budget_saves_and_notifies() -> None:
    box = Timebox()

    effects = box.command("15m turns:3 -- lmk done", at(turns=4))

    held = TimeboxBudget(
        limits={"time": 15 * MINUTE, "turns": 3},
        start=at(turns=4),
        on_stop_command="lmk done",
    )
    assert effects == [
        SaveRecord(Active(held)),
        Notify("Timebox set: 15m, 3 turns. When it is spent: lmk done", "info"),
    ]
    assert box.budget == held


def test_unknown_words_of_a_command_are_reported() -> None:
    effects = Timebox().command("15m turn:3", at())

    assert effects[1:] == [
        Notify("Timebox set: 15m.", "info"),
        Notify(f"Not understood: turn:3. {USAGE}", "warning"),
    ]


def test_an_invalid_command_changes_nothing() -> None:
    box = Timebox(QUARTER)

    assert box.command("15x", at(1)) == [Notify(USAGE, "warning")]
    assert box.command("", at(1)) == [Notify(USAGE, "warning")]
    assert box.budget == QUARTER


def test_a_new_budget_replaces_the_old_one_and_starts_at_zero() -> None:
    box = Timebox(budget(time=15 * MINUTE, nudged=True))

    box.command("turns:5", at(14))

    assert box.budget == TimeboxBudget(limits={"turns": 5}, start=at(14))


def test_the_status_command_shows_the_budget_or_a_usage_hint() -> None:
    box = Timebox()

    assert box.command("status", at()) == [Notify(f"No active timebox. {USAGE}", "info")]
    box.command("15m", at())
    assert box.command("status", at(1)) == [
        Notify("Timebox: 14m 0s left (15m budget) | no turn limit", "info")
    ]


def test_off_is_saved_only_if_there_was_a_budget() -> None:
    box = Timebox(QUARTER)

    assert box.command("off", at(1)) == [
        SaveRecord(Off(START + MINUTE)),
        Notify("Timebox off.", "info"),
    ]
    assert box.command("off", at(1)) == [Notify("No active timebox.", "info")]
    assert box.status(at(1)) is None


def test_a_nudge_notifies_once_and_then_warns_the_model() -> None:
    box = Timebox(QUARTER)

    assert box.turn_started(at(11)) == []
    assert box.warning(at(11)) is None
    box.prompt_ended(attended=True)
    assert box.turn_started(at(12)) == [Notify("Timebox nearly spent: 3m left.", "warning")]
    box.prompt_ended(attended=True)
    assert box.turn_started(at(13)) == []

    assert box.warning(at(13)) == (
        f"IMPORTANT TIMEBOX WARNING\nBudget for this session: 2m left. {WRAP_UP}"
    )
    assert box.warning(at(14.5)) == (
        f"CRITICAL TIMEBOX WARNING\nBudget for this session: 30s left. {WRAP_UP}"
    )


def test_a_spent_budget_stops_once() -> None:
    box = Timebox(budget(turns=5, command="lmk done"))

    effects = box.turn_started(at(1, turns=5))

    assert effects == [
        Notify(f"{SPENT} The agent stops for this turn. The chat continues.", "error"),
        SaveRecord(Active(budget(turns=5, command="lmk done", active=False))),
        RunOnStop("lmk done"),
    ]
    assert _refusal(box) == SPENT
    assert box.status(at(1, turns=5)) == "Timebox: no time limit | 0 turns left (5/5) | spent"
    assert box.warning(at(1, turns=5)) is None
    box.prompt_ended(attended=True)
    assert _refusal(box) is None
    assert box.turn_started(at(2, turns=6)) == []
    assert box.command("off", at(2))[1:] == [Notify("Timebox off.", "info")]


def test_without_an_on_stop_command_nothing_is_run() -> None:
    effects = Timebox(budget(turns=5)).turn_started(at(1, turns=5))

    assert [type(effect) for effect in effects] == [Notify, SaveRecord]


def test_without_a_user_a_spent_budget_stays_spent() -> None:
    box = Timebox(budget(turns=5))
    box.turn_started(at(1, turns=5))

    box.prompt_ended(attended=False)

    assert _refusal(box) == SPENT
    box.command("turns:5", at(1, turns=5))
    assert _refusal(box) is None


def test_only_the_first_turn_of_a_prompt_is_checked() -> None:
    box = Timebox(budget(turns=5))
    box.turn_started(at(turns=3))

    assert box.turn_started(at(turns=5)) == []
    box.prompt_ended(attended=True)
    assert len(box.turn_started(at(turns=5))) == 2


def test_before_a_request_only_token_and_cost_limits_are_checked() -> None:
    box = Timebox(budget(turns=5, cost=1.0))

    assert box.request_due(at(turns=9, cost=0.5), ("tokens", "cost")) == []
    assert box.request_due(at(turns=1, cost=0.8), ("tokens", "cost")) == [
        Notify("Timebox nearly spent: 4 turns, $0.20 left.", "warning")
    ]
    box.request_due(at(1, turns=1, cost=1.0), ("tokens", "cost"))
    assert box.refusal == "Timebox budget spent. Used 1 turn, 1m 0s, $1.00."


def test_without_a_budget_nothing_happens() -> None:
    box = Timebox()

    assert box.turn_started(at(1)) == []
    assert box.request_due(at(1), {"cost"}) == []
    assert box.warning(at(1)) is None
    assert box.session_started([], at(1), knows=KNOWN) == []


def test_restoring_a_budget_notifies() -> None:
    box = Timebox()

    effects = box.session_started([Off(START), Active(QUARTER)], at(5), knows=KNOWN)

    assert effects == [
        Notify("Restored. Timebox: 10m 0s left (15m budget) | no turn limit", "info")
    ]
    assert box.budget == QUARTER


def test_an_expired_budget_is_not_restored() -> None:
    box = Timebox(QUARTER)

    assert box.session_started([Active(QUARTER)], at(15), knows=KNOWN) == [
        Notify(EXPIRED, "warning")
    ]
    assert box.budget is None


def test_a_command_not_typed_by_the_user_is_not_restored() -> None:
    ours, foreign = budget(turns=5, command="lmk done"), budget(turns=5, command="rm -r ~")
    box = Timebox()

    reported = box.session_started([Active(ours)], at(1), knows=KNOWN)
    assert (len(reported), box.budget) == (1, ours)
    reported = box.session_started([Active(foreign)], at(1), knows=KNOWN)

    assert reported[1:] == [Notify(f"{FOREIGN} rm -r ~", "warning")]
    assert box.budget == budget(turns=5)


def test_the_end_of_a_session_clears_all_state() -> None:
    box = Timebox(budget(turns=5))
    box.turn_started(at(1, turns=5))

    box.forget()

    assert (box.budget, box.refusal, box.status(at(1))) == (None, None, None)


def test_user_and_model_receive_the_same_number_of_remaining_turns() -> None:
    box = Timebox(budget(turns=2))
    assert box.turn_started(at(turns=0)) == []
    box.prompt_ended(attended=True)

    last = "this turn is the last"
    assert box.turn_started(at(turns=1)) == [Notify(f"Timebox nearly spent: {last}.", "warning")]
    for turns in (1, 2):  # before and after the prompt is counted
        assert f"\nBudget for this session: {last}. " in str(box.warning(at(turns=turns)))
    assert box.status(at(turns=2)) == "Timebox: no time limit | 0 turns left (2/2)"


def test_turns_after_the_current_one_are_counted() -> None:
    box = Timebox(budget(turns=10, time=10 * MINUTE))

    remaining = "1 turn after this one, 9m left"
    assert box.turn_started(at(1, turns=8)) == [
        Notify(f"Timebox nearly spent: {remaining}.", "warning")
    ]
    assert f"Budget for this session: {remaining}. " in str(box.warning(at(1, turns=9)))
    box.prompt_ended(attended=True)
    assert "this turn is the last, 9m left. " in str(box.warning(at(1, turns=9)))
