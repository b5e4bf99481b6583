"""Words that people type after ``pi`` run or suggest a command; none is sent to a model."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


def test_words_of_other_programs_suggest_what_to_use(journey: Journey) -> None:
    journey.expects("an unknown command")
    for words, suggestion in (
        (["batteries"], "`pi extensions`"),
        (["tools", "list"], "`pi extensions`"),
        (["settings"], "/settings"),
        (["trust"], "/trust"),
        (["batteries", "on", "plan"], "`pi extensions`"),
        (["extensions", "todo"], "`pi extensions on|off NAME`"),
        (["extensions", "enable", "todo"], "`pi extensions on|off NAME`"),
        (["settings", "set", "theme", "light"], "/settings"),
        (["plugin", "list"], "`pi install`"),
        (["upgrade"], "`pi update`"),
        (["permissions"], "type /permissions: "),
        (["compact"], "type /compact: "),
        (["todo"], "type /todo: "),
    ):
        ended = journey.pi(*words)
        assert ended.code == 1
        assert suggestion in ended.err
        assert f"`pi -- {' '.join(words)}` sends it as a prompt." in ended.err
    assert journey.model.requests == []


def test_login_and_logout_are_those_of_auth(journey: Journey) -> None:
    journey.home.use_login("anthropic")

    ended = journey.pi("logout", "anthropic")

    assert ended.code == 0
    assert (journey.home.agent_dir / "auth.json").read_text().strip() == "{}"
    assert "anthropic" in journey.pi("login").err
    assert journey.model.requests == []


def test_logout_without_a_name_says_how_to_name_one(journey: Journey) -> None:
    assert "`pi logout <provider>`" in journey.pi("logout").err


def test_doctor_and_config_run(journey: Journey) -> None:
    assert "settings" in journey.pi("doctor").out
    assert journey.pi("config").out == "No packages installed.\n"
    assert journey.model.requests == []


def test_a_command_and_a_space_run_what_was_typed(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("Ask anything")
        for command in ("/extensions ", "/theme ", "/name "):
            user.types(command)
            user.settles()
            user.submits("")
            user.settles()
            user.types("\x1b")
            user.settles()
        user.sees("The session has no name.")
    assert journey.home.settings.keys() == {"lastChangelogVersion"}


def test_resume_opens_the_session_it_names(journey: Journey) -> None:
    journey.home.add_session("herons", id="11111111-1111-4111-8111-111111111111")

    with journey.terminal("resume", "11111111") as user:
        user.sees("About herons.")
    ended = journey.pi("resume")

    assert ended.code == 1
    assert "needs a terminal" in ended.err
    assert journey.model.requests == []


def test_a_sentence_that_begins_with_such_a_word_is_a_prompt(journey: Journey) -> None:
    sentences = (["login fails"], ["login", "fails", "twice"], ["settings", "are", "lost"])
    for words in (*sentences, ["--", "login"]):
        assert journey.pi(*words).out.startswith("All is well.")


@pytest.mark.full
def test_a_command_after_an_option_is_suggested_in_the_right_order(journey: Journey) -> None:
    for word in ("doctor", "login", "config"):
        ended = journey.pi("--offline", word)
        assert ended.code == 1
        assert f"write `pi {word}`" in ended.err
    assert journey.pi("-p", "--offline", "doctor").out == "All is well.\n"
