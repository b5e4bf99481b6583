"""A previewed change that the model leaves pending."""

from __future__ import annotations

import pytest

from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey

PREVIEW = calls("ast_edit", ops=[{"pattern": "foo($X)", "rewrite": "bar($X)"}])


@pytest.fixture
def previewing(journey: Journey) -> Journey:
    pytest.importorskip("ast_grep_py", reason="ast-grep-py is not installed")
    journey.home.use_settings(astTools={"enabled": True})
    journey.home.write_work("a.py", "foo(1)\n")
    journey.model.script(PREVIEW, says("Let me think."))
    return journey


def test_a_pending_preview_does_not_force_a_decision_on_the_next_prompt(
    previewing: Journey,
) -> None:
    with previewing.rpc() as client:
        client.prompts("rename foo")
        client.prompts("what is the capital of Norway?")

    forced = [request.get("tool_choice") for request in previewing.model.requests]
    named = {"type": "function", "function": {"name": "resolve"}}
    assert forced == [None, named, None]
    assert "otherwise leave it" in str(previewing.model.last["messages"][-1])


@pytest.mark.parametrize(
    ("action", "content", "message"),
    [("discard", "foo(1)\n", "Discarded"), ("apply", "bar(1)\n", "a.py")],
)
def test_the_user_decides_about_a_pending_preview(
    previewing: Journey, action: str, content: str, message: str
) -> None:
    with previewing.terminal() as user:
        user.submits("rename foo")
        user.sees("Let me think.")
        user.settles()
        user.submits(f"/resolve {action}")
        user.sees(message)
        user.settles()
        user.submits("/resolve")
        user.sees("No previewed change is pending.")

    assert (previewing.home.cwd / "a.py").read_text() == content
