"""The test plan of the specification, §10.2, in its order, and what goes beyond it."""

from __future__ import annotations

import pytest

from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.timebox.adapters.pi import SPENT
from pi.batteries.timebox.core.timebox import EXPIRED, USAGE
from pi.extension import (
    ModelRequest,
    UserMessage,
)
from tests.batteries.timebox.adapters.fake_pi import MINUTE, START, FakePi, stored_entry

ASKED = ModelRequest(model=FAUX_MODEL, messages=(), purpose="summary")
CONTINUES = "The agent stops for this turn. The chat continues."


# 1-3
@pytest.mark.parametrize(
    ("arguments", "limits", "reported", "status"),
    [
        ("15m", {"timeLimitMs": 900_000}, "15m", "15m 0s left (15m budget) | no turn limit"),
        ("turns:5", {"turnLimit": 5}, "5 turns", "no time limit | 5 turns left (0/5)"),
        (
            "15m turns:3",
            {"timeLimitMs": 900_000, "turnLimit": 3},
            "15m, 3 turns",
            "15m 0s left (15m budget) | 3 turns left (0/3)",
        ),
    ],
)
async def test_a_budget_is_saved_notified_and_shown(
    arguments: str, limits: dict[str, int], reported: str, status: str
) -> None:
    pi = FakePi()

    await pi.command(arguments)

    assert pi.recorded == [stored_entry(**limits)]
    assert pi.notified == [("info", f"Timebox set: {reported}.")]
    assert pi.statuses == [f"Timebox: {status}"]


# 4
async def test_an_invalid_budget_is_a_warning_and_changes_nothing() -> None:
    pi = FakePi()

    await pi.command("15x")

    assert (pi.recorded, pi.notified, pi.statuses) == ([], [("warning", USAGE)], [])


# 5
async def test_the_status_is_shown_before_and_after_a_budget_is_set() -> None:
    pi = FakePi()

    await pi.command("status")
    await pi.command("turns:5")
    await pi.command("status")

    assert pi.notified == [
        ("info", f"No active timebox. {USAGE}"),
        ("info", "Timebox set: 5 turns."),
        ("info", "Timebox: no time limit | 5 turns left (0/5)"),
    ]


# 6
@pytest.mark.parametrize("word", ["off", "disable", "cancel"])
async def test_off_is_saved_and_removes_the_status(word: str) -> None:
    pi = FakePi()
    await pi.command("turns:5")

    await pi.command(word)

    assert pi.recorded[1:] == [("timebox-off", {"disabledAt": START})]
    assert pi.notified[1:] == [("info", "Timebox off.")]
    assert (pi.statuses[1:], pi.timers) == ([None], [])


# 7
async def test_off_without_a_budget_notifies_and_is_not_saved() -> None:
    pi = FakePi()

    await pi.command("off")

    assert (pi.recorded, pi.notified) == ([], [("info", "No active timebox.")])


# 8
async def test_at_80_percent_of_the_time_one_warning_is_shown() -> None:
    pi = FakePi()
    await pi.command("10m")
    pi.now += 8 * MINUTE

    assert await pi.prompt() is None
    assert await pi.prompt() is None

    assert pi.notified[1:] == [("warning", "Timebox nearly spent: 2m left.")]


# 9
async def test_at_80_percent_of_the_turns_a_warning_is_shown() -> None:
    pi = FakePi()
    await pi.command("turns:5")
    await pi.say(4)

    await pi.turn()
    assert pi.notified[1:] == []  # the prompt is not shown yet
    await pi.request()

    assert pi.notified[1:] == [("warning", "Timebox nearly spent: this turn is the last.")]


# 10, 11
async def test_after_the_nudge_the_system_prompt_has_the_warning() -> None:
    pi = FakePi()
    await pi.command("10m turns:10")
    assert await pi.prompt_of_run() is None
    pi.now += 8 * MINUTE
    await pi.prompt()

    prompt = await pi.prompt_of_run()
    assert prompt is not None
    assert prompt.startswith("You are pi.\n\nIMPORTANT TIMEBOX WARNING\n")
    assert "session: 8 turns after this one, 2m left." in prompt
    pi.now += 90_000
    prompt = await pi.prompt_of_run()
    assert prompt is not None
    assert prompt.startswith("You are pi.\n\nCRITICAL TIMEBOX WARNING\n")


async def test_the_nudged_run_receives_the_warning_as_a_message() -> None:
    pi = FakePi()
    await pi.command("turns:5")
    await pi.say(4)

    await pi.prompt_of_run()
    await pi.turn()
    request = await pi.request()
    (warning,) = request.messages
    await pi.settle()
    await pi.prompt_of_run()
    later = await pi.request()

    assert isinstance(warning, UserMessage)
    assert str(warning.content).startswith("IMPORTANT TIMEBOX WARNING\n")
    assert later.messages == ()  # the warning is in the system prompt now


# 12
async def test_when_the_time_is_over_the_run_is_stopped() -> None:
    pi = FakePi()
    await pi.command("10m")
    pi.now += 10 * MINUTE

    stopped = await pi.prompt()

    assert stopped == f"Timebox budget spent. Used 0 turns, 10m 0s. ({SPENT})"
    assert pi.notified[1:] == [
        ("error", f"Timebox budget spent. Used 0 turns, 10m 0s. {CONTINUES}")
    ]
    assert pi.timers == []
    assert pi.recorded[1:] == [stored_entry(timeLimitMs=600_000, active=False)]


# 13
async def test_when_the_turns_are_used_up_the_run_is_stopped_and_the_next_one_is_not() -> None:
    pi = FakePi()
    await pi.command("turns:5")
    await pi.say(6)

    assert await pi.prompt() == f"Timebox budget spent. Used 6 turns, 0s. ({SPENT})"
    assert await pi.prompt() is None
    assert [level for level, _ in pi.notified] == ["info", "error"]
    assert pi.statuses[-1] == "Timebox: no time limit | 0 turns left (5/5) | spent"


async def test_five_turns_are_nudged_at_the_fifth_and_stopped_at_the_sixth_prompt() -> None:
    pi = FakePi()
    await pi.command("turns:5")

    reported = []
    for _ in range(7):
        before = len(pi.notified)
        await pi.prompt()
        reported.append([level for level, _ in pi.notified[before:]])

    assert reported == [[], [], [], [], ["warning"], ["error"], []]


async def test_tool_rounds_and_retries_are_not_counted_as_turns() -> None:
    pi = FakePi()
    await pi.command("turns:1")
    await pi.prompt_of_run()
    await pi.turn()
    await pi.say()

    for index in (1, 2, 0, 1):
        await pi.turn(index)
        await pi.request()

    assert pi.notified[1:] == []


# 14
async def test_a_budget_is_restored_by_a_reload() -> None:
    pi = FakePi()
    await pi.command("15m -- lmk done")
    pi.now += MINUTE

    again = await pi.reload()

    status = "Timebox: 14m 0s left (15m budget) | no turn limit"
    assert again.notified == [("info", f"Restored. {status}")]
    assert again.statuses == [status]
    assert len(again.timers) == 1
    again.now += 14 * MINUTE
    await again.prompt()
    assert again.spawned[0][-1] == "lmk done"


# 15
async def test_an_expired_budget_is_not_restored() -> None:
    pi = FakePi()
    await pi.command("15m")
    pi.now += 15 * MINUTE

    again = await pi.reload()

    assert (again.notified, again.statuses) == ([("warning", EXPIRED)], [])
    assert await again.prompt() is None


# 16
async def test_a_budget_that_was_turned_off_is_not_restored() -> None:
    pi = FakePi()
    await pi.command("15m")
    await pi.command("off")

    again = await pi.reload()

    assert (again.notified, again.statuses) == ([], [])


# 17
async def test_a_restored_budget_that_is_nearly_spent_warns_only_the_model() -> None:
    pi = FakePi()
    await pi.command("20m")
    pi.now += 17 * MINUTE

    again = await pi.reload()

    await again.turn()
    assert [level for level, _ in again.notified] == ["info"]
    assert "IMPORTANT TIMEBOX WARNING" in (await again.prompt_of_run() or "")


async def test_a_spent_budget_does_not_stop_again_after_a_reload() -> None:
    pi = FakePi()
    await pi.command("turns:1 -- lmk done")
    await pi.prompt()
    await pi.prompt()

    again = await pi.reload()

    assert (len(pi.spawned), again.notified) == (1, [("warning", EXPIRED)])
    assert await again.prompt() is None
    assert again.spawned == []


# 18
async def test_the_end_of_a_session_removes_status_and_timer_and_saves_nothing() -> None:
    pi = FakePi()
    await pi.command("15m")

    await pi.leave()

    assert (len(pi.recorded), pi.statuses[1:], pi.timers) == (1, [None], [])


# 19
async def test_a_new_budget_replaces_the_timer() -> None:
    pi = FakePi()

    for arguments in ("15m", "30m", "turns:3"):
        await pi.command(arguments)

    assert (pi.timers_started, len(pi.timers)) == (3, 1)


# 20
async def test_a_new_budget_can_be_nudged_again() -> None:
    pi = FakePi()
    await pi.command("10m")
    pi.now += 8 * MINUTE
    await pi.prompt()
    await pi.command("10m")
    assert await pi.prompt_of_run() is None

    pi.now += 8 * MINUTE
    await pi.turn()
    await pi.request()

    assert [level for level, _ in pi.notified] == ["info", "warning", "info", "warning"]


async def test_the_status_is_set_only_when_it_has_changed() -> None:
    pi = FakePi()
    await pi.command("turns:5")
    (tick,) = pi.timers

    tick()
    pi.now += MINUTE
    tick()
    await pi.say()
    tick()

    assert pi.statuses == [
        "Timebox: no time limit | 5 turns left (0/5)",
        "Timebox: no time limit | 4 turns left (1/5)",
    ]


async def test_without_a_status_line_no_timer_is_started() -> None:
    pi = FakePi(mode="json")

    await pi.command("15m")

    assert pi.timers_started == 0


async def test_the_on_stop_command_is_run_once() -> None:
    pi = FakePi()
    await pi.command("turns:5 -- lmk 'all done'")
    await pi.say(4)
    await pi.prompt()
    assert pi.spawned == []

    await pi.prompt()
    await pi.prompt()

    assert pi.spawned == [["/bin/sh", "-c", "lmk 'all done'"]]


async def test_a_command_that_cannot_be_run_is_reported() -> None:
    pi = FakePi(shell_works=False)
    await pi.command("turns:0 -- lmk done")

    await pi.prompt()

    assert pi.notified[-1] == (
        "error",
        "lmk done could not be run: Cannot start /bin/sh: there is no such program.",
    )


async def test_arguments_are_completed() -> None:
    pi = FakePi()

    assert pi.completions("turns:") == ["turns:3", "turns:5", "turns:10"]
    assert pi.completions("x") == []
