"""The matrix: each battery, each way to switch it, each mode, in this session and in the next.

The batteries are those of ``pi extensions list --json``; ``batteries.py`` knows how each shows
that it works. One program switches many batteries, and all cells are tried before the test fails.
"""

from __future__ import annotations

import pytest

from tests.journeys.batteries import Battery, find_batteries, prepare
from tests.journeys.doors import Door, open_door
from tests.journeys.home import Home
from tests.journeys.program import Journey
from tests.journeys.switches import (
    Switch,
    by_command,
    by_file,
    by_list,
    by_rpc,
    by_rpc_for_the_session,
    by_settings,
    by_shell,
    stored,
)

SAMPLE = frozenset({"todo", "permissions", "edit-variants", "secrets"})
"""Batteries that every run of the tests tries in each way: a switch, choice, value and guard."""
FULL = pytest.mark.full
pytestmark = pytest.mark.timeout(900)  # one program switches all batteries

RUNNING: tuple[tuple[Switch, str], ...] = (
    (by_rpc, "rpc"),
    (by_rpc_for_the_session, "rpc"),
    (by_command, "terminal"),
    (by_list, "terminal"),
    (by_settings, "terminal"),
    (by_file, "terminal"),
    (by_shell, "terminal"),
)
"""How a battery of a running session is switched, and what the session is used through."""
NEXT: tuple[tuple[Switch, str], ...] = (
    (by_shell, "print"),
    (by_file, "print"),
    (by_file, "rpc"),
    (by_file, "terminal"),
)
"""How a battery is switched before a session starts. Other ways store the same values."""
VARIABLES = {
    "PI_AUTH_BROKER_URL": "http://127.0.0.1:9",
    "OMP_AUTH_BROKER_URL": "http://127.0.0.1:9",
    "PI_EDIT_VARIANT": "apply_patch",
    "PI_PY": "1",
    "PI_JS": "1",
    "PI_SMOL_MODEL": "loop/large",
    "PI_SLOW_MODEL": "loop/large",
    "PI_PLAN_MODEL": "loop/large",
}
"""Every variable that loads a battery, and a value that does."""
ROLES = frozenset({"PI_SMOL_MODEL", "PI_SLOW_MODEL", "PI_PLAN_MODEL"})
"""Variables that name the model of a role."""


class Cells:
    """The cells that have failed."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def check(self, door: Door, battery: Battery, *, works: bool) -> None:
        """Compare what a battery does, or its state where that is not visible, with the switch."""
        if door.name in battery.doors:
            actual = battery.works(door)
        else:
            actual = door.state(battery.name) in ("on", "session")
        if actual != works:
            self.failures.append(f"{battery.name} {'works' if actual else 'does not work'}")

    def check_stored(self, home: Home, battery: Battery) -> None:
        """Compare the settings file with what an editor would have written."""
        value = stored(home, battery.row["setting"])
        if value != battery.stored:
            self.failures.append(f"{battery.name} is stored as {value!r}")

    def try_cell(self, door: Door, battery: Battery, switch: Switch, *, on: bool) -> None:
        """Switch a battery of this session and check it."""
        try:
            switch(door, battery, on)
        except AssertionError as error:
            self.failures.append(f"{battery.name} cannot be switched {on=}: {error}")
            door.close_dialogs()
        else:
            self.check(door, battery, works=on)


@pytest.fixture
def batteries(journey: Journey) -> list[Battery]:
    """All batteries, in a home with everything that they work with."""
    prepare(journey)
    return find_batteries(journey)


def _columns(
    columns: tuple[tuple[Switch, str], ...], whole: frozenset[Switch] = frozenset()
) -> list[object]:
    """Parameters: each column with the sample and with all batteries; ``whole`` are always all."""
    return [
        pytest.param(
            switch,
            door,
            full,
            id=f"{switch.__name__}-{door}-{'all' if full else 'sample'}",
            marks=() if not full or switch in whole else (FULL,),
        )
        for switch, door in columns
        for full in ((True,) if switch in whole else (False, True))
    ]


def _switchable(batteries: list[Battery], *, full: bool) -> list[Battery]:
    return [
        battery
        for battery in batteries
        if battery.row["setting"] and not battery.row["needs"] and (full or battery.name in SAMPLE)
    ]


@pytest.mark.parametrize(("switch", "door", "full"), _columns(RUNNING, frozenset({by_rpc})))
def test_a_battery_follows_its_switch_in_the_session_that_runs(
    journey: Journey, batteries: list[Battery], switch: Switch, door: str, full: bool
) -> None:
    cells = Cells()
    before = journey.home.settings
    with open_door(journey, door) as session:
        for battery in _switchable(batteries, full=full):
            if switch is by_list and isinstance(battery.value, dict):
                continue  # Space has no value to switch on with but the default
            for on in (True, False):
                cells.try_cell(session, battery, switch, on=on)
                if on and switch is not by_rpc_for_the_session:
                    cells.check_stored(journey.home, battery)
    if switch is by_rpc_for_the_session and journey.home.settings != before:
        cells.failures.append("a switch for one session has changed the settings")
    assert not cells.failures, "\n".join(cells.failures)


@pytest.mark.parametrize(("switch", "door", "full"), _columns(NEXT))
def test_a_battery_follows_its_switch_in_the_next_session(
    journey: Journey, batteries: list[Battery], switch: Switch, door: str, full: bool
) -> None:
    cells = Cells()
    for battery in _switchable(batteries, full=full):
        for on in (True, False):
            switch(Door(journey), battery, on)
            with open_door(journey, door) as session:
                cells.check(session, battery, works=on)
    assert not cells.failures, "\n".join(cells.failures)


@pytest.mark.parametrize(
    ("by_option", "door"),
    [
        (False, "rpc"),
        pytest.param(False, "print", marks=FULL),
        pytest.param(False, "terminal", marks=FULL),
        pytest.param(True, "print", marks=FULL),
        pytest.param(True, "rpc", marks=FULL),
        pytest.param(True, "terminal", marks=FULL),
    ],
)
def test_recommended_batteries_work_together(
    journey: Journey, batteries: list[Battery], by_option: bool, door: str
) -> None:
    cells = Cells()
    if not by_option:
        journey.home.use_recommended()
    options = ("--batteries", "recommended") if by_option else ()
    with open_door(journey, door, *options) as session:
        for battery in _switchable(batteries, full=True):
            # Without a value of its own such a battery has nothing to do.
            has_effect = session.name in battery.doors and battery.value is None
            if battery.row["recommended"] and has_effect:
                cells.check(session, battery, works=True)
    assert not cells.failures, "\n".join(cells.failures)


@pytest.mark.full
def test_a_battery_follows_its_variable(journey: Journey, batteries: list[Battery]) -> None:
    cells = Cells()
    tried = set()
    for battery in batteries:
        variables = [way.split()[1] for way in battery.row["activation"] if "variable " in way]
        for variable in variables:
            tried.add(variable)
            journey.environ[variable] = VARIABLES[variable]
            with open_door(journey, "rpc") as session:
                if variable in ROLES:
                    role = variable.split("_")[1].lower()
                    ended = journey.pi("-p", "--model", f"@{role}", "hi")
                    actual = journey.model.last["model"] == "large" and not ended.code
                elif variable == "PI_JS":
                    actual = session.state(battery.name) == "on"
                else:
                    actual = battery.works(session)
            del journey.environ[variable]
            if not actual:
                cells.failures.append(f"{battery.name} does not follow {variable}")
    assert not cells.failures, "\n".join(cells.failures)
    assert tried == VARIABLES.keys()


def test_a_battery_without_a_switch_names_what_uses_it(
    journey: Journey, batteries: list[Battery]
) -> None:
    others = [battery for battery in batteries if not battery.row["setting"]]
    assert others
    with journey.rpc() as client:
        for battery in others:
            answer = client.request("set_extension", name=battery.name, enabled=True)
            assert answer["message"] == f"{battery.name} is on: it loads when it is used."
            refusal = client.ask("set_extension", name=battery.name, enabled=False)["error"]
            assert refusal.startswith(f"No setting switches {battery.name} on or off.")
            assert battery.row["activation"][0] in refusal
    ended = journey.pi("extensions", "off", others[0].name)
    assert (ended.code, ended.out) == (1, "")
    assert "No setting switches" in ended.err
