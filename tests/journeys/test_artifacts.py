"""Long outputs, and how they go with a session."""

from __future__ import annotations

import json

import pytest

from tests.journeys.program import Journey


def reads_artifact(journey: Journey, *arguments: str) -> str:
    """The result of reading ``artifact://0`` in a new run."""
    journey.model.calls("read", path="artifact://0", offset=29_999)
    ended = journey.pi(*arguments, "-p", "read it")
    assert ended.code == 0, ended.err
    return journey.model.results_of()[-1]


@pytest.fixture
def session_id(journey: Journey) -> str:
    """A session with a long output."""
    journey.model.calls("bash", command="seq 1 30000")
    assert journey.pi("-p", "count").code == 0
    return str(journey.home.sessions[0][0]["id"])


def test_a_fork_on_the_command_line_keeps_the_artifacts(journey: Journey, session_id: str) -> None:
    assert reads_artifact(journey, "--fork", session_id).startswith("29999\n30000")


def test_a_fork_into_another_project_keeps_the_artifacts(journey: Journey, session_id: str) -> None:
    other = journey.home.cwd.parent / "other"
    other.mkdir()
    journey.home.cwd = other
    journey.model.calls("read", path="artifact://0", offset=29_999)
    with journey.terminal("--session", session_id) as user:
        user.sees("Fork this session")
        user.types("y")
        user.settles()
        if "Fork this session" in user.screen:
            user.types("\r")
        user.settles()
        user.submits("read it")
        journey.model.wait_for_requests(4)

    assert journey.model.results_of()[-1].startswith("29999\n30000")


def test_a_long_output_has_an_artifact_without_a_session(journey: Journey) -> None:
    journey.model.calls("bash", command="seq 1 30000")
    journey.model.calls("read", path="artifact://0", offset=29_999)
    ended = journey.pi("-p", "--no-session", "count")

    assert ended.code == 0
    assert journey.model.results_of()[-1].startswith("29999\n30000")


def test_a_fork_without_a_session_file_keeps_the_artifacts(journey: Journey) -> None:
    with journey.rpc("--no-session") as client:
        journey.model.calls("bash", command="seq 1 30000")
        client.prompts("count")
        client.request("clone")
        journey.model.calls("read", path="artifact://0", offset=29_999)
        client.prompts("read it")
        client.request("new_session")
        journey.model.calls("read", path="artifact://0")
        client.prompts("read it")

        assert journey.model.results_of(-3)[-1].startswith("29999\n30000")
        assert journey.model.results_of() == ["Artifact 0 not found. Available: none"]


def test_a_missing_picture_is_named_and_its_session_goes_on(journey: Journey) -> None:
    file = journey.home.add_session("look", id="00000000-0000-7000-8000-000000000001")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    prompt = next(entry for entry in entries if entry.get("message", {}).get("role") == "user")
    lost = {"type": "image", "data": f"blob:sha256:{'0' * 64}", "mimeType": "image/png"}
    prompt["message"]["content"] = [{"type": "text", "text": "look"}, lost]
    file.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    ended = journey.pi("-p", "--session", str(file), "what was it?")

    assert "1 picture of this session cannot be read from" in ended.err
    assert (ended.code, ended.out) == (0, "All is well.\n")
    assert "blob:sha256" not in str(journey.model.last)


def test_find_refers_to_ls_for_stored_outputs(journey: Journey) -> None:
    journey.model.calls("find", pattern="*", path="artifact://")
    assert journey.pi("-p", "--tools", "find", "look").code == 0

    assert journey.model.results_of() == ["find does not search artifact://: list it with ls."]
