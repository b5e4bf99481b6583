"""The first day of a new user: one Enter, then a page, a rule and a plan in the same session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.journeys.installation import install_pi
from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey
from tests.journeys.terminal import ENTER, ESCAPE, Terminal

RULE = "---\ncondition: heron\ndescription: no herons\n---\nSay stork.\n"
PLAN = "# Paint the fence\n\n1. Buy paint.\n"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = b"<html><body><h1>Birds</h1><p>Avocets wade in shallow water.</p></body></html>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """Host and port of a web site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def begin_anew(user: Terminal) -> None:
    """Begin another conversation: the rules of the model look at all of its messages."""
    user.submits("/new")
    user.shows("Ask anything")
    user.settles()


@pytest.mark.parametrize(
    "kind",
    ["checkout", *(pytest.param(k, marks=pytest.mark.full) for k in ("venv", "pipx", "uv tool"))],
)
def test_a_page_a_rule_and_a_plan_in_the_first_session(
    untouched: Journey, site: str, kind: str
) -> None:
    if kind != "checkout":
        untouched.program = str(install_pi(untouched.folder / "environment", kind))
    untouched.home.use_model(untouched.model)
    untouched.home.write("rules/birds.md", RULE)
    # Rules and no script: the titles of sessions are asked for at the same time.
    untouched.model.when("Avocets wade", says("I have read it."))
    with untouched.terminal() as user:
        user.shows("Welcome to pi", "● recommended")
        user.types(ENTER)
        user.shows("Saved in ~/.pi/agent", "Ask anything")
        user.submits("/settings")
        user.shows("Settings")
        user.types("web.allowHosts")
        user.shows("→ Allowed hosts")
        user.types(ENTER)
        user.settles()
        user.submits(site)
        user.shows(site)
        user.types(ESCAPE)
        user.shows("Ask anything")

        untouched.model.when("the page", calls("read", path=f"http://{site}/birds"))
        user.submits("read the page")
        user.sees("I have read it.")

        begin_anew(user)
        untouched.model.when("Say stork.", says("A stork wades."))
        untouched.model.when("tell me about birds", says("A heron wades."))
        user.submits("tell me about birds")
        user.sees("Rule birds interrupted the answer", "A stork wades.")

        begin_anew(user)
        user.submits("/plan")
        user.shows("Plan mode is on")
        untouched.model.when("I have approved", says("Bought."))
        untouched.model.when("approved the plan", says("Bought."))
        untouched.model.when("about a fence", calls("propose_plan", plan=PLAN))
        user.submits("plan something about a fence")
        user.shows("Carry out this plan? Paint the fence", "Buy paint.")
        assert "Allow" not in user.screen
        user.types(ENTER)
        user.sees("Bought.")
        user.leaves()
    (plan,) = untouched.home.agent_dir.glob("plans/*.md")
    assert plan.read_text() == PLAN


def test_plans_are_stored_without_a_question_about_their_file(journey: Journey) -> None:
    for mode in ("auto-edit", "ask", "read-only"):
        journey.home.use_settings(permissions={"mode": mode}, plan={"enabled": True})
        journey.model.calls("propose_plan", plan=PLAN)
        journey.pi("-p", "--plan-mode", "plan it")
        assert "The plan is stored in" in journey.model.results_of()[-1]
    journey.home.use_settings(permissions={"mode": "auto-edit"}, plan={"enabled": True})
    file = journey.home.agent_dir / "plans" / "mine.md"
    for path, is_written in ((file, True), (file.with_suffix(".json"), False)):
        journey.model.calls("write", path=str(path), content=PLAN)
        journey.pi("-p", "write it")
        assert path.exists() is is_written


def test_an_approved_plan_is_saved_in_the_project_without_a_question(journey: Journey) -> None:
    journey.home.use_settings(
        permissions={"mode": "auto-edit"}, plan={"enabled": True, "autosave": True}
    )
    journey.model.calls("propose_plan", plan=PLAN)
    journey.pi("-p", "--plan-yolo", "plan it")
    assert (journey.home.cwd / ".pi/plans/paint-the-fence.md").read_text() == PLAN
