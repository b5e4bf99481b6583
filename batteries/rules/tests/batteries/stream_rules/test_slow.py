"""Slow patterns run in a child process: look-around, back references, syntax trees."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.providers.faux import call, calls, says, thinks
from pi.batteries.stream_rules import adapter
from pi.batteries.stream_rules.matcher import MatchRequest, SlowMatcher
from pi.extension import SYNTAX_LANGUAGES, ExtensionAPI, SpawnRequest
from tests.batteries.stream_rules.stream import (
    Notices,
    recorded,
    registered,
    roles,
    rule_text,
    ruled,
)
from tests.coding.extension_host.extension_session import extension_session

OK = says("ok")
LOOK_AHEAD = rule_text("No.", condition="FORB(?=IDDEN)")
TREE = rule_text("No.", astCondition="if ($X) clearTimeout($X)", globs="*.js")


async def test_a_look_ahead_is_matched_at_the_end_of_a_block(tmp_path: Path) -> None:
    steps = (
        says("FORBIDDEN text", call("bash", command="touch ran")),
        thinks("FORBID", call("bash", command="echo FORBIDDEN")),
        OK,
    )
    rule = rule_text("No.", condition="FORB(?=IDDEN)", repeatMode="after-gap", repeatGap=0)
    async with ruled(tmp_path, {"word": rule}, *steps) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == [
            "user",
            "assistant:aborted",
            "assistant:aborted",
            "assistant:stop",
        ]
        assert recorded(hosted) == [["word"], ["word"]]
        assert not (hosted.fixture.cwd / "ran").exists()
        assert hosted.failures == []


async def test_an_edit_that_keeps_a_look_ahead_match_does_not_match(tmp_path: Path) -> None:
    edit = {"oldText": "FORBIDDEN 1", "newText": "FORBIDDEN 2"}
    async with ruled(
        tmp_path, {"word": LOOK_AHEAD}, calls("edit", path="a", edits=[edit]), OK
    ) as hosted:
        hosted.fixture.write("project/a", "FORBIDDEN 1")
        await hosted.session.prompt("go")

        assert (hosted.fixture.cwd / "a").read_text() == "FORBIDDEN 2"
        assert recorded(hosted) == []


async def test_a_pattern_that_times_out_is_disabled_and_the_others_are_matched(
    tmp_path: Path,
) -> None:
    texts: list[str] = []
    apis: list[ExtensionAPI] = []
    rules = registered(
        {"condition": "(?=a)(a+)+$"},
        {"condition": "b(?=c)"},
        {"condition": "(?=x)y"},
    ).rules
    async with extension_session(tmp_path, apis.append):
        matcher = SlowMatcher(apis[0], texts.append, seconds=0.5)
        request = MatchRequest(text="a" * 40 + "!bc", rules=rules)

        assert [rule.name for rule in await matcher.find(request)] == ["r1"]
        assert [rule.name for rule in await matcher.find(request)] == ["r1"]
        (reported,) = texts
        assert reported.startswith("Rule r0: '(?=a)(a+)+$' took longer than 0.5 s")


async def test_a_match_after_a_cancelled_one_returns_its_own_result(tmp_path: Path) -> None:
    started = asyncio.Event()
    apis: list[ExtensionAPI] = []

    def watching(pi: ExtensionAPI) -> None:
        async def note(request: SpawnRequest) -> SpawnRequest:
            started.set()
            return request

        apis.append(pi)
        pi.wrap_spawn(note)

    hanging, plain = registered({"condition": "(?=a)(a+)+$"}, {"condition": "b(?=c)"}).rules
    async with extension_session(tmp_path, watching):
        matcher = SlowMatcher(apis[0], print, seconds=60)
        work = matcher.find(MatchRequest(text="a" * 40 + "!", rules=(hanging,)))
        matching = asyncio.create_task(work)
        await started.wait()
        matching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await matching

        assert await matcher.find(MatchRequest(text="x", rules=(plain,))) == []
        assert await matcher.find(MatchRequest(text="bc", rules=(plain,))) == [plain]


async def test_source_that_a_call_writes_is_matched_by_its_syntax_tree(tmp_path: Path) -> None:
    bad = "if (timer)   clearTimeout( timer )\n"
    steps = (
        says("if (timer) clearTimeout(timer)"),  # text has no language
        calls("write", path="a.txt", content=bad),
        calls("write", path="a.js", content="if (a) clearTimeout(b)\n"),
        calls("write", path="a.js", content=bad),
        OK,
    )
    async with ruled(tmp_path, {"tree": TREE}, *steps) as hosted:
        await hosted.session.prompt("one")
        await hosted.session.prompt("two")

        assert (hosted.fixture.cwd / "a.txt").read_text() == bad
        assert (hosted.fixture.cwd / "a.js").read_text() == "if (a) clearTimeout(b)\n"
        assert recorded(hosted) == [["tree"]]
        assert hosted.failures == []


async def test_a_tree_match_is_found_while_a_long_file_streams(tmp_path: Path) -> None:
    """Only with lines after the match: ``else`` could still follow."""
    rules = registered({"astCondition": "if ($X) clearTimeout($X)"}).rules
    apis: list[ExtensionAPI] = []
    text = "f()\nif (x) clearTimeout(x)\n"
    async with extension_session(tmp_path, apis.append):
        matcher = SlowMatcher(apis[0], print)
        for more, names in (("", []), ("g()\n", ["r0"]), ("else h()\n", [])):
            request = MatchRequest(
                text=text + more, rules=rules, language="javascript", is_whole=False
            )
            assert [rule.name for rule in await matcher.find(request)] == names


async def test_text_and_tree_conditions_of_one_rule_are_both_matched(tmp_path: Path) -> None:
    rule = rule_text("No.", condition="FORBIDDEN", astCondition="eval($X)")
    async with ruled(tmp_path / "a", {"r": rule}, says("FORBIDDEN"), OK) as hosted:
        await hosted.session.prompt("go")
        assert recorded(hosted) == [["r"]]
    async with ruled(
        tmp_path / "b", {"r": rule}, calls("write", path="a.py", content="eval( 1 )"), OK
    ) as hosted:
        await hosted.session.prompt("go")
        assert recorded(hosted) == [["r"]]


async def test_a_tree_pattern_that_cannot_be_parsed_is_reported_once(tmp_path: Path) -> None:
    ui = Notices()
    rule = rule_text("No.", astCondition="a; b")
    steps = [calls("write", path="a.js", content=f"x({n})") for n in range(2)]
    async with ruled(tmp_path, {"r": rule}, *steps, OK, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert len([text for text in ui.notices if "Rule r" in text]) == 1
        assert roles(hosted)[-1] == "assistant:stop"


async def test_without_re2_every_condition_is_matched_at_the_end_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "load_re2", lambda: None)
    ui = Notices()
    rule = rule_text("No.", condition="FORBIDDEN")
    steps = (says("FORBIDDEN"), OK)
    async with ruled(tmp_path, {"r": rule}, *steps, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["r"]]
        assert not any("google-re2" in text for text in ui.notices)  # it works without


@pytest.mark.full
async def test_the_parser_supports_every_listed_language(tmp_path: Path) -> None:
    problems: list[str] = []
    apis: list[ExtensionAPI] = []
    rules = registered({"astCondition": "x"}).rules
    async with extension_session(tmp_path, apis.append):
        matcher = SlowMatcher(apis[0], problems.append)
        for language in SYNTAX_LANGUAGES:
            await matcher.find(MatchRequest(text="x", rules=rules, language=language))

    assert problems == []
