"""A session whose folder is gone can be continued, forked or left alone."""

from __future__ import annotations

from tests.journeys.program import Journey


def test_a_session_of_a_lost_folder_is_forked_into_this_one(journey: Journey) -> None:
    lost = journey.folder / "lost"
    file = journey.home.add_session("the weather", id="11111111-1111-7111-8111-11111111", cwd=lost)
    before = file.read_bytes()
    with journey.terminal("--session", str(file)) as user:
        user.shows("The folder of this session is missing", str(lost))
        user.types("\x1b[B\r")
        user.sees("About the weather.")
        user.submits("and now?")
        user.sees("All is well.")
    assert file.read_bytes() == before
    (fork,) = [lines for lines in journey.home.sessions if lines[0]["cwd"] != str(lost)]
    assert fork[0]["cwd"] == str(journey.home.cwd)
    assert fork[0]["parentSession"] == str(file)


def test_without_a_terminal_it_is_an_error(journey: Journey) -> None:
    lost = journey.folder / "lost"
    file = journey.home.add_session("the weather", id="11111111-1111-7111-8111-11111111", cwd=lost)
    ended = journey.pi("-p", "hi", "--session", str(file))
    assert ended.code == 1
    assert f"Stored session working directory does not exist: {lost}" in ended.err
