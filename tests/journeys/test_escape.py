"""Escape ends the dialog that is open, and only then work in the background."""

from __future__ import annotations

import threading

from tests.journeys.model_server import Answer
from tests.journeys.program import Journey
from tests.journeys.terminal import BACKSPACE, ESCAPE

SUB_AGENT = '"name":"yield"'
"""Occurs in the requests of sub-agents only: a tool of theirs."""


def test_escape_closes_a_dialog_before_it_ends_agents_in_the_background(journey: Journey) -> None:
    journey.home.use_settings(task={"enabled": True})
    held = Answer(text="I look around.", released=threading.Event())
    journey.model.when(SUB_AGENT, held)
    journey.model.calls("task", tasks=[{"task": "look", "name": "Scout", "background": True}])
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.submits("delegate it")
        journey.model.wait_until_held()
        user.sees("All is well.")
        for command, text in (("/extensions", "Space switch"), ("/settings", "Type to search")):
            user.submits(command)
            user.shows(text)
            user.types(ESCAPE)
            user.loses(text)
            user.settles()
            assert "cancelled" not in user.tape
        user.types("and then" + ESCAPE)
        user.settles()
        assert "cancelled" not in user.tape
        user.types(BACKSPACE * len("and then") + ESCAPE)
        user.sees("Scout look  cancelled")
        assert held.released is not None
        held.released.set()


def test_escape_closes_a_dialog_before_it_interrupts_a_cell(journey: Journey) -> None:
    journey.home.use_settings(eval={"py": True})
    journey.expects("a traceback")  # of the cell
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.submits("$ import time; time.sleep(300)")
        user.shows("Escape interrupts the cell")
        user.submits("/settings")
        user.shows("Type to search")
        user.types(ESCAPE)
        user.loses("Type to search")
        user.settles()
        assert "interrupted" not in user.tape
        user.types("more text" + ESCAPE)
        user.sees("interrupted")
