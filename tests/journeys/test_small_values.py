"""Values at the edge: arguments of templates, globs and limits of searches, settings."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


@pytest.mark.parametrize(
    ("typed", "filled"),
    [
        ("don't stop it's", "[don't][stop][it's]"),
        ("unclosed \"a 'b", "[unclosed][\"a]['b]"),
        (r'"say \"hi\"" two', '[say "hi"][two][]'),
        (r"'it\'s ok' two", "[it's ok][two][]"),
        ('"" second', "[][second][]"),
        ("say='a b' \"c d\"", "[say=a b][c d][]"),
    ],
)
def test_quotes_in_arguments_of_templates(journey: Journey, typed: str, filled: str) -> None:
    journey.home.write("prompts/show.md", "[$1][$2][$3]\n")
    assert journey.pi("-p", f"/show {typed}").code == 0
    content = journey.model.last["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert text.strip() == filled


def test_a_glob_may_begin_with_the_folder_and_a_limit_is_at_least_one(journey: Journey) -> None:
    journey.home.write_work("src/a.py", "needle\n")
    journey.home.write_work("src/b.txt", "needle\n")
    journey.home.write_work("c.py", "needle\n")
    journey.model.calls("grep", pattern="needle", glob="./src/*.py")
    journey.model.calls("grep", pattern="needle", glob="!./src/*.py")
    journey.model.calls("grep", pattern="needle", limit=0)
    journey.model.calls("find", pattern="*.py", limit=-3)
    journey.model.calls("ls", limit=0)
    assert journey.pi("-p", "hi", "--tools", "grep,find,ls").code == 0
    within, others, matches, names, entries = journey.model.results_of()
    assert within == "src/a.py:1: needle"
    assert others == "c.py:1: needle\nsrc/b.txt:1: needle"
    for result in (matches, names, entries):
        assert len(result.split("\n\n")[0].splitlines()) == 1
        assert "1 " in result.split("\n\n")[1]


def test_time_limits_can_be_disabled(journey: Journey) -> None:
    journey.home.use_settings(httpIdleTimeoutMs="disabled", websocketConnectTimeoutMs="disabled")
    ended = journey.pi("-p", "hi")
    assert (ended.code, ended.out, ended.err) == (0, "All is well.\n", "")
    checked = journey.pi("doctor")
    assert "TimeoutMs" not in checked.out
    journey.home.use_settings(httpIdleTimeoutMs="soon")
    assert "httpIdleTimeoutMs" in journey.pi("doctor").out


def test_a_quiet_start_may_keep_its_header(journey: Journey) -> None:
    journey.home.write_work("AGENTS.md", "Be kind.\n")
    for value, shown, hidden in (
        ("header", "/help for commands", "AGENTS.md"),
        (False, "AGENTS.md", "nothing hidden"),
        (True, "Ask anything", "/help for commands"),
    ):
        journey.home.use_settings(quietStartup=value)
        with journey.terminal("--approve") as user:
            user.shows("Ask anything", shown)
            assert hidden not in user.settles()
            user.leaves()
