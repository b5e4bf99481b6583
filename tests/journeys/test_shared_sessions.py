"""A session that two terminals show: the host's, and a guest's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.journeys.model_server import Answer, calls, says
from tests.journeys.program import Journey
from tests.journeys.terminal import ENTER, ESCAPE, Terminal

WIDE = 160


@contextmanager
def host(journey: Journey, *, view: bool = False) -> Iterator[tuple[Terminal, str]]:
    with journey.terminal(columns=WIDE) as user:
        user.submits("/collab view" if view else "/collab")
        user.sees("This session is shared.")
        user.settles()
        found = re.search(r"^ *(http\S+/#\S+)$", user.tape, re.MULTILINE)
        assert found, user.tape
        yield user, found[1]


def test_a_guest_sees_and_steers_the_sub_agents_of_the_host(journey: Journey) -> None:
    journey.home.use_settings(task={"enabled": True})
    # Rules are looked at first: the answers of the agent must not take those of the session.
    held = journey.model.hold("unused")
    journey.model._script.clear()
    journey.model.when("FIND-IT", Answer(text="I am looking around in the cellar.", released=held))
    with host(journey) as (sharer, link):
        journey.model.script(
            calls("task", tasks=[{"name": "scout", "agent": "task", "task": "FIND" + "-IT"}])
        )
        with journey.terminal("join", link, columns=WIDE) as guest:
            guest.shows("guest, 2 here")
            sharer.submits("go")
            journey.model.wait_until_held()
            guest.submits("/agents")
            guest.shows("scout", "running")
            guest.types(ENTER)
            guest.shows("Escape back", "User")
            guest.types(ESCAPE)
            guest.shows("Escape close")
            guest.types("c")
            guest.shows("cancelled")
            sharer.sees("cancelled")
            guest.types(ESCAPE)
        held.set()


def test_a_link_with_a_wrong_key_and_a_text_that_is_no_link_are_refused_at_once(
    journey: Journey,
) -> None:
    with host(journey) as (_, link):
        end = "B" if link.endswith("A") else "A"
        room, _, secret = link.rpartition(".")
        wrong = f"{room}.{'B' if secret[0] == 'A' else 'A'}{secret[1:]}"
        with journey.terminal(columns=WIDE) as user:
            user.submits("/join garbage")
            user.sees("This is not a link to a shared session.")
            user.submits(f"/join {wrong}")
            user.sees("The key of this link is wrong.")
            user.submits(f"/join {room}.{secret[:-4]}AAA{end}")
            user.sees("is wrong")


def test_guests_are_told_what_they_may_do_before_they_choose(journey: Journey) -> None:
    journey.expects("an unknown command")
    journey.model.script(says("First."))
    with host(journey) as (sharer, link):
        sharer.submits("hello")
        sharer.sees("First.")
        with journey.terminal("join", link, columns=WIDE) as guest:
            guest.sees("First.")
            guest.submits("/model")
            guest.sees("/model works only where the session runs")
            guest.shows("guest, 2 here")
            guest.submits("/collab status")
            guest.sees("Full link:", "(host)", "(can write)")
            for text in ("/skill:deploy", "/moddel"):
                guest.submits(text)
                guest.shows(f"Unknown command {text}")
                guest.types("\x15")  # the text stays in the editor
            assert len(journey.model.requests) == 1
            guest.submits("/fork")
            guest.shows("Fork from a message")
            guest.types(ENTER)
            guest.shows("Leave the shared session, and go on in a copy of your own?")
            guest.types("n")
            guest.shows("guest, 2 here")
            assert "read-only" not in guest.tape and "view-only" not in guest.tape
        sharer.submits("/collab view")
        sharer.sees("The link is view-only.")
        view = re.findall(r"^ *(http\S+/#\S+)$", sharer.tape, re.MULTILINE)[-1]
        with journey.terminal("join", view, columns=WIDE) as viewer:
            viewer.sees("This link is view-only")


def test_a_view_only_guest_is_offered_nothing_that_it_may_not_do(journey: Journey) -> None:
    journey.home.use_settings(task={"enabled": True})
    with host(journey, view=True) as (sharer, link):
        journey.model.script(
            calls("task", tasks=[{"name": "scout", "agent": "task", "task": "look"}]),
            calls("yield", data="seen"),
            says("Done."),
        )
        sharer.submits("go")
        sharer.sees("Done.")
        with journey.terminal("join", link, columns=WIDE) as viewer:
            viewer.sees("Done.", "This link is view-only")
            viewer.submits("/agents")
            viewer.shows("scout", "completed", "This link is view-only: you see the table")
            assert "s message" not in viewer.screen and "c cancel" not in viewer.screen
            viewer.types("s")
            viewer.types(ENTER)
            assert "Write to scout" not in viewer.settles()
            viewer.shows("you see the table")


def test_a_guest_is_told_why_it_is_back_in_its_own_session(journey: Journey) -> None:
    with host(journey) as (sharer, link), journey.terminal(columns=WIDE) as guest:
        journey.model.says("Mine.")
        guest.submits("my own")
        guest.sees("Mine.")
        guest.submits(f"/join {link}")
        guest.shows("guest, 2 here")
        guest.loses("my own")
        sharer.submits("/collab stop")
        guest.shows("my own", "Mine.", "The host has stopped sharing.")
        guest.settles()
        guest.shows("The host has stopped sharing.")


def test_a_link_that_is_wider_than_the_window_has_no_margin(journey: Journey) -> None:
    with journey.terminal(columns=60) as user:
        user.submits("/collab")
        user.sees("This session is shared.", "Only this machine")
        rows = user.settles().splitlines()
        first = next(index for index, row in enumerate(rows) if row.startswith("http"))
        assert len(rows[first]) == 60 and not rows[first + 1].startswith(" ")
