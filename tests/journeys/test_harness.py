"""The doors of the harness: each way to run pi once, and each reason that fails a journey."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.journeys.complaints import find_complaints
from tests.journeys.model_server import calls, fails, model_server
from tests.journeys.processes import find_running
from tests.journeys.program import Journey


def test_a_question_in_a_pipe_is_answered(journey: Journey) -> None:
    journey.model.says("Four.")

    ended = journey.pi("-p", "What is 2 + 2?")

    assert ended == (0, "Four.\n", "")
    assert "What is 2 + 2?" in json.dumps(journey.model.last["messages"])


def test_json_mode_writes_events_until_the_agent_is_settled(journey: Journey) -> None:
    journey.model.says("Four.")

    ended = journey.pi("--mode", "json", "What is 2 + 2?")

    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["type"] for event in events][-1] == "agent_settled"


def test_a_tool_call_of_the_model_reaches_the_disk(journey: Journey) -> None:
    journey.model.calls("write", path="poem.txt", content="Roses.")

    assert journey.pi("-p", "Write a poem.").code == 0
    assert (journey.home.cwd / "poem.txt").read_text() == "Roses."
    assert len(journey.model.results_of()) == 1


def test_a_conversation_on_a_terminal_is_shown(journey: Journey) -> None:
    journey.model.says("Four.")
    with journey.terminal() as user:
        user.shows("one")
        user.submits("What is 2 + 2?")
        user.sees("Four.")
        assert user.leaves() == 0


def test_closing_the_window_ends_pi_and_what_it_runs(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        user.submits("!!echo $((40 + 2)) is it; exec sleep 1000")
        user.shows("42 is it")
        commands = [process.command for process in find_running(journey.folder, set())]
        assert "sleep 1000" in commands


def test_a_program_drives_a_session_over_rpc(journey: Journey) -> None:
    journey.model.says("Four.")
    with journey.rpc() as client:
        client.prompts("What is 2 + 2?")
        assert client.request("get_last_assistant_text") == {"text": "Four."}
        assert client.close() == 0


def test_an_editor_drives_a_session_over_acp(journey: Journey) -> None:
    journey.model.says("Four.")
    with journey.acp() as editor:
        session = editor.opens()
        assert editor.prompts(session, "What is 2 + 2?")["stopReason"] == "end_turn"
        assert editor.text == "Four."


def test_an_answer_can_be_held_in_the_middle(journey: Journey) -> None:
    released = journey.model.hold("First half, second half.")
    with journey.terminal() as user:
        user.shows("one")
        user.submits("go on")
        journey.model.wait_until_held()
        user.shows("First half")
        assert "second half" not in user.tape
        released.set()
        user.sees("second half")


def test_an_error_of_the_model_is_shown_to_the_user(journey: Journey) -> None:
    journey.model.script(fails(400, "The kettle is empty."))

    ended = journey.pi("-p", "hello")

    assert ended.code == 1
    assert "The kettle is empty." in ended.err


def test_a_session_of_the_home_is_continued(journey: Journey) -> None:
    journey.home.add_session("herons", id="11111111-1111-4111-8111-111111111111")

    assert journey.pi("--continue", "-p", "And now?").code == 0
    assert "About herons." in json.dumps(journey.model.last["messages"])


def test_a_rule_of_the_server_comes_before_its_script() -> None:
    with model_server() as server:
        server.when("title", calls("bash", command="true"))
        server.says("Later.")
        assert server.take(b'{"messages": "a title"}', {}).calls[0][0] == "bash"
        assert server.take(b'{"messages": ""}', {}).text == "Later."
        assert server.unused == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Traceback (most recent call last):\n", "a traceback"),
        ('  File "x.py", line 3\n', "a traceback"),
        ("This is an internal error.", "the word internal"),
        ("Details: ~/.pi/agent/pi.log", "a pointer to pi.log"),
        ("Unknown command: /plan", "an unknown command"),
        ("  plan:1   Plan mode", "a doubled command"),
        ('{"name":"plan:2"}', "a doubled command"),
        ("coroutine x was never awaited", "an event loop's own report"),
    ],
)
def test_what_a_user_must_never_see_is_found(text: str, complaint: str) -> None:
    assert [line.partition(":")[0] for line in find_complaints(text, set())] == [complaint]
    assert find_complaints(text, {complaint}) == []


def test_ordinary_output_is_no_complaint() -> None:
    text = "src/file.py:12 and 10:20, see http://localhost:1 and notes:10; internals of the log"
    assert find_complaints(text, set()) == []


def test_a_process_that_outlives_pi_fails_the_journey(
    journey: Journey,
) -> None:
    journey.pi("-p", "hello")
    stray = subprocess.Popen(["sleep", "1000"], env=journey.environ, start_new_session=True)
    try:
        while not find_running(journey.folder, set()):
            pass  # for an instant after exec the kernel shows no environment yet
        with pytest.raises(AssertionError, match="a leftover process: sleep 1000"):
            journey.check()
    finally:
        stray.kill()
        stray.wait()
