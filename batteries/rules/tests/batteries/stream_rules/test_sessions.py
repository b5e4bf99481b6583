"""Stream rules in whole sessions, with a script in place of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Reply, call, calls, says, thinks
from pi.batteries.stream_rules.adapter import extension
from pi.coding.session.opening import open_session
from pi.extension import ExtensionAPI, MessageEndEvent, SubSession
from tests.batteries.stream_rules.stream import (
    Notices,
    injections,
    recorded,
    roles,
    rule_text,
    ruled,
    sent,
)
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.files import put

WORD = rule_text("Never say the word.", condition="FORBIDDEN")
BAD = says("I say FORBIDDEN " + "and more " * 30)
OK = says("ok")


def texts(hosted: ExtensionFixture) -> list[list[str]]:
    """The texts of every tool result."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [[part.text for part in m.content if isinstance(part, Text)] for m in messages]


async def test_a_rule_interrupts_the_answer_and_the_model_answers_again(tmp_path: Path) -> None:
    events: list[Any] = []

    def listening(pi: ExtensionAPI) -> None:
        pi.events.on("ttsr_triggered", events.append)

    ui = Notices()
    async with ruled(tmp_path, {"word": WORD}, BAD, OK, extensions=(listening,), ui=ui) as hosted:
        answer = await hosted.session.prompt("go")

        assert answer is not None
        assert answer.text == "ok"
        assert roles(hosted) == ["user", "assistant:aborted", "assistant:stop"]
        assert hosted.fixture.order.count("agent_start") == 1
        (injection,) = injections(hosted)
        assert injection.startswith(
            '<system-interrupt reason="rule_violation" rule="word" path=".pi/rules/word.md">'
        )
        assert injection.endswith("Never say the word.\n</system-interrupt>")
        assert "FORBIDDEN" not in sent(hosted, 1)  # discarded
        assert "Never say the word." in sent(hosted, 1)
        assert recorded(hosted) == [["word"]]
        (event,) = hosted.emitted("ExtensionEvent")
        assert event.name == "ttsr_triggered"
        assert event.data == events[0]
        assert event.data["rules"][0]["name"] == "word"
        assert event.data["rules"][0]["condition"] == ["FORBIDDEN"]
        assert ui.notices == ["Rule word interrupted the answer; the model answers again."]
        assert hosted.failures == []


async def test_with_context_mode_keep_the_interrupted_response_remains_in_context(
    tmp_path: Path,
) -> None:
    async with ruled(tmp_path, {"word": WORD}, BAD, OK, ttsr={"contextMode": "keep"}) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == ["user", "assistant:stop", "assistant:stop"]
        assert "FORBIDDEN" in sent(hosted, 1)
        assert sent(hosted, 1).index("FORBIDDEN") < sent(hosted, 1).index("Never say the word.")


async def test_text_is_interrupted_while_it_streams_and_short_text_at_its_end(
    tmp_path: Path,
) -> None:
    async with ruled(tmp_path / "a", {"word": WORD}, BAD, OK) as hosted:
        await hosted.session.prompt("go")
        streamed = "".join(
            event.assistant_message_event.delta
            for event in hosted.emitted("MessageUpdate")
            if hasattr(event.assistant_message_event, "delta")
        )
        assert len(streamed) < 80
    async with ruled(tmp_path / "b", {"word": WORD}, says("FORBIDDEN"), OK) as hosted:
        await hosted.session.prompt("go")
        assert roles(hosted) == ["user", "assistant:aborted", "assistant:stop"]


async def test_thinking_and_calls_of_any_tool_are_matched_unless_the_scope_excludes_them(
    tmp_path: Path,
) -> None:
    steps = (thinks("FORBIDDEN thoughts"), OK)
    async with ruled(tmp_path / "a", {"word": WORD}, *steps) as hosted:
        await hosted.session.prompt("go")
        assert recorded(hosted) == [["word"]]
    text_only = rule_text(condition="FORBIDDEN", scope="text")
    steps = (thinks("FORBIDDEN", call("bash", command="echo FORBIDDEN")), OK)
    async with ruled(tmp_path / "b", {"word": text_only}, *steps) as hosted:
        await hosted.session.prompt("go")
        assert recorded(hosted) == []
    async with ruled(
        tmp_path / "c", {"word": WORD}, calls("bash", command="echo FORBIDDEN"), OK
    ) as hosted:
        await hosted.session.prompt("go")
        assert recorded(hosted) == [["word"]]
        assert texts(hosted) == []  # it did not run


async def test_a_file_with_forbidden_content_is_not_written(tmp_path: Path) -> None:
    rule = rule_text(condition="FORBIDDEN", globs="*.py")
    steps = (
        calls("write", path="a.txt", content="FORBIDDEN"),  # not a file of the rule
        calls("write", path="a.py", content="FORBIDDEN"),
        calls("write", path="a.py", content="fine"),
        OK,
    )
    async with ruled(tmp_path, {"word": rule}, *steps) as hosted:
        await hosted.session.prompt("go")

        assert (hosted.fixture.cwd / "a.txt").read_text() == "FORBIDDEN"
        assert (hosted.fixture.cwd / "a.py").read_text() == "fine"
        assert recorded(hosted) == [["word"]]


async def test_a_rule_with_globs_never_matches_text(tmp_path: Path) -> None:
    rule = rule_text(condition="FORBIDDEN", globs="*.py")
    async with ruled(tmp_path, {"word": rule}, BAD) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == ["user", "assistant:stop"]


async def test_an_edit_that_keeps_an_existing_match_does_not_match(
    tmp_path: Path,
) -> None:
    before = "FORBIDDEN = 1\nx = 1\n"
    edit = {"oldText": before, "newText": "FORBIDDEN = 1\nx = 2\n"}
    worse = {"oldText": "x = 2", "newText": "x = FORBIDDEN"}
    steps = (
        calls("edit", path="a.py", edits=[edit]),
        calls("edit", path="a.py", edits=[worse]),
        OK,
    )
    async with ruled(tmp_path, {"word": WORD}, *steps) as hosted:
        hosted.fixture.write("project/a.py", before)
        await hosted.session.prompt("go")

        assert (hosted.fixture.cwd / "a.py").read_text() == "FORBIDDEN = 1\nx = 2\n"
        assert recorded(hosted) == [["word"]]


async def test_all_rules_that_match_are_sent_once_each(tmp_path: Path) -> None:
    files = {"a": rule_text("Text of A.", condition=["FORB", "IDDEN"]), "b": WORD}
    async with ruled(tmp_path, files, BAD, OK) as hosted:
        await hosted.session.prompt("go")

        (injection,) = injections(hosted)
        assert injection.count("<system-interrupt") == 2
        assert recorded(hosted) == [["a", "b"]]


async def test_of_rules_with_the_same_name_the_first_source_is_used(tmp_path: Path) -> None:
    of_pi = {"word": rule_text("Of pi.", condition="FORBIDDEN")}
    of_cursor = rule_text("Of Cursor.", condition="ok")
    put(tmp_path / "home/project/.cursor/rules/word.mdc", of_cursor)
    async with ruled(tmp_path, of_pi, BAD, OK) as hosted:
        await hosted.session.prompt("go")

        (injection,) = injections(hosted)
        assert "Of pi." in injection


@pytest.mark.behaviour("rule-buffers-reset")
async def test_a_rule_is_sent_once_or_again_after_a_gap(tmp_path: Path) -> None:
    rarely = rule_text(condition="FORBIDDEN", repeatMode="after-gap", repeatGap=2)
    steps = (BAD, OK, BAD, BAD, OK)
    async with ruled(tmp_path / "a", {"word": rarely}, *steps) as hosted:
        for _ in range(3):  # turns 0 and 1, 2, 3 and 4
            await hosted.session.prompt("go")
        assert roles(hosted) == [
            "user",
            *("assistant:aborted", "assistant:stop"),
            "user",
            *("assistant:aborted", "assistant:stop"),
            "user",
            "assistant:stop",
        ]
    async with ruled(tmp_path / "b", {"word": WORD}, BAD, OK, BAD) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("go")
        assert roles(hosted)[-1] == "assistant:stop"
        assert recorded(hosted) == [["word"]]


@pytest.mark.behaviour("rule-buffers-reset")
async def test_a_match_does_not_span_two_responses(tmp_path: Path) -> None:
    rule = rule_text(condition="FORB[^]*IDDEN")
    steps = (says("FORB " + "x " * 40), says("IDDEN " + "x " * 40))
    async with ruled(tmp_path, {"word": rule}, *steps) as hosted:
        await hosted.session.prompt("one")
        await hosted.session.prompt("two")

        assert recorded(hosted) == []


@pytest.mark.behaviour("rule-buffers-reset")
async def test_final_arguments_are_matched_as_decoded_values(tmp_path: Path) -> None:
    """In the JSON of the call a line end is ``\\n``, so that ``^`` would not match there."""
    rule = rule_text(condition="/^FORBIDDEN$/m")
    steps = (calls("bash", command="echo\nFORBIDDEN\n"), OK)
    async with ruled(tmp_path, {"word": rule}, *steps) as hosted:
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["word"]]
        assert texts(hosted) == []


async def test_a_resumed_session_does_not_send_a_rule_again(tmp_path: Path) -> None:
    async with ruled(tmp_path, {"word": WORD}, BAD, OK) as hosted:
        await hosted.session.prompt("go")
        file = hosted.session.session_file
    assert file is not None
    resumed: dict[str, Any] = {"open_log": lambda location: open_session(file, location)}
    async with ruled(tmp_path, {"word": WORD}, BAD, OK, **resumed) as hosted:
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["word"]]
        assert roles(hosted)[-2:] == ["user", "assistant:stop"]


async def test_on_another_branch_the_rule_may_match_again(tmp_path: Path) -> None:
    async with ruled(tmp_path, {"word": WORD}, says("first"), BAD, OK, BAD, OK) as hosted:
        await hosted.session.prompt("one")
        leaf = hosted.session.entries.log.leaf_id
        assert leaf is not None
        await hosted.session.prompt("two")
        await hosted.session.tree.go_to(leaf)
        await hosted.session.prompt("three")

        assert recorded(hosted) == [["word"], ["word"]]


async def test_without_an_interrupt_the_rule_precedes_the_tool_result(
    tmp_path: Path,
) -> None:
    files = {
        "one": rule_text("First.", condition="FORBIDDEN", interruptMode="never"),
        "two": rule_text("Second.", condition="FORB", interruptMode="prose-only"),
    }
    both = says(
        "now",
        call("bash", command="echo FORBIDDEN 1"),
        call("bash", command="echo FORBIDDEN 2"),
    )
    async with ruled(tmp_path, files, both, OK) as hosted:
        await hosted.session.prompt("go")

        with_rules, plain = texts(hosted)
        reminder, output = with_rules
        assert reminder.startswith('<system-reminder reason="rule_violation" rule="one"')
        assert "</system-reminder>\n\n<system-reminder" in reminder
        assert (output, plain) == ("FORBIDDEN 1\n", ["FORBIDDEN 2\n"])
        assert recorded(hosted) == [["one", "two"]]
        assert injections(hosted) == []
        assert len(hosted.fixture.provider.requests) == 2


async def test_without_an_interrupt_the_rule_follows_the_text(tmp_path: Path) -> None:
    rule = rule_text("Never.", condition="FORBIDDEN", interruptMode="never")
    ui = Notices()
    async with ruled(tmp_path, {"word": rule}, BAD, OK, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == ["user", "assistant:stop", "assistant:stop"]
        assert "FORBIDDEN" in sent(hosted, 1)
        assert len(injections(hosted)) == 1
        assert recorded(hosted) == [["word"]]
        assert hosted.emitted("ExtensionEvent") == []
        assert ui.notices == ["Rule word matched; the model is reminded."]


@pytest.mark.parametrize(
    ("mode", "in_text", "in_call"),
    [
        ("always", "aborted", "aborted"),
        ("prose-only", "aborted", "toolUse"),
        ("tool-only", "stop", "aborted"),
        ("never", "stop", "toolUse"),
    ],
)
async def test_the_interrupt_mode_setting_selects_text_or_calls(
    tmp_path: Path, mode: str, in_text: str, in_call: str
) -> None:
    for name, step, reason in (
        ("text", BAD, in_text),
        ("call", calls("bash", command="echo FORBIDDEN"), in_call),
    ):
        settings = {"interruptMode": mode}
        async with ruled(tmp_path / name, {"word": WORD}, step, OK, ttsr=settings) as hosted:
            await hosted.session.prompt("go")
            assert roles(hosted)[1] == f"assistant:{reason}"


async def test_rules_matched_in_a_failed_response_can_match_later(tmp_path: Path) -> None:
    rule = rule_text(condition="FORBIDDEN", interruptMode="never")
    fails = Reply(blocks=(call("bash", command="echo FORBIDDEN"),), error="bad request")
    steps = (fails, calls("bash", command="echo FORBIDDEN"), OK)
    async with ruled(
        tmp_path, {"word": rule}, *steps, settings={"retry": {"enabled": False}}
    ) as hosted:
        await hosted.session.prompt("one")
        assert recorded(hosted) == []
        await hosted.session.prompt("two")
        assert recorded(hosted) == [["word"]]


async def test_a_rule_matched_in_a_blocked_call_can_match_later(tmp_path: Path) -> None:
    rule = rule_text(condition="FORBIDDEN", interruptMode="never")
    bad = calls("bash", command="echo FORBIDDEN")
    refused: list[bool] = []

    def guard(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def refuse(event: Any, ctx: Any) -> Any:
            refused.append(True)
            return {"block": True, "reason": "no"} if len(refused) == 1 else None

    async with ruled(tmp_path, {"word": rule}, bad, bad, OK, extensions=(guard,)) as hosted:
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["word"]]
        assert [len(text) for text in texts(hosted)] == [1, 2]


async def test_a_rule_that_interrupts_too_often_is_silenced(tmp_path: Path) -> None:
    files = {
        "noisy": rule_text(condition="FORBIDDEN", repeatMode="after-gap", repeatGap=0),
        "other": rule_text("Other.", condition="worse"),
    }
    ui = Notices()
    steps = (*[BAD] * 4, says("now worse"), OK)
    async with ruled(tmp_path, files, *steps, ui=ui) as hosted:
        await hosted.session.prompt("go")  # three interrupts, then the fourth answer stands
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["noisy"]] * 3 + [["other"]]
        assert any("silenced" in text for text in ui.notices)
        assert roles(hosted)[-1] == "assistant:stop"


async def test_many_rules_never_end_the_run(tmp_path: Path) -> None:
    files = {f"r{n}": rule_text(condition=f"FORBIDDEN{n}") for n in range(8)}
    steps = [says(f"FORBIDDEN{n} " + "x " * 40) for n in range(8)]
    async with ruled(tmp_path, files, *steps, OK) as hosted:
        answer = await hosted.session.prompt("go")

        assert answer is not None
        assert answer.text == "ok"
        assert roles(hosted).count("assistant:aborted") <= 5
        assert sorted(name for names in recorded(hosted) for name in names) == sorted(files)


async def test_a_repeating_rule_without_interrupt_does_not_continue_the_run_endlessly(
    tmp_path: Path,
) -> None:
    rule = rule_text(
        condition="FORBIDDEN", interruptMode="never", repeatMode="after-gap", repeatGap=0
    )
    async with ruled(tmp_path, {"word": rule}, *[BAD] * 9) as hosted:
        await hosted.session.prompt("go")

        assert len(hosted.fixture.provider.requests) == 4


async def test_other_extensions_receive_an_interrupted_response_as_aborted(tmp_path: Path) -> None:
    reasons: list[str] = []

    def watching(pi: ExtensionAPI) -> None:
        @pi.on("message_end")
        def look(event: MessageEndEvent, ctx: Any) -> None:
            reasons.append(getattr(event.message, "stop_reason", ""))

    short = calls("bash", command="echo FORBIDDEN")
    async with ruled(tmp_path, {"word": WORD}, short, OK, extensions=(watching,)) as hosted:
        await hosted.session.prompt("go")

        assert [reason for reason in reasons if reason] == ["aborted", "stop"]


async def test_bad_rules_are_reported_and_the_session_starts(tmp_path: Path) -> None:
    ui = Notices()
    files = {"bad": rule_text(condition="("), "lost": rule_text(condition="x", scope="user")}
    async with ruled(tmp_path, {**files, "word": WORD}, BAD, OK, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert recorded(hosted) == [["word"]]
        assert [text for text in ui.notices if "Rule bad" in text]
        assert [text for text in ui.notices if "Rule lost" in text and "scope" in text]


async def test_bundled_rules_are_used_switched_off_and_replaced(tmp_path: Path) -> None:
    bad = calls("bash", command="git commit --no-verify -m x")
    for name, ttsr, files, expected in (
        ("on", {"builtinRules": True}, {}, [["no-verify"]]),
        ("off", {}, {}, []),
        ("disabled", {"builtinRules": True, "disabledRules": ["no-verify"]}, {}, []),
        ("replaced", {"builtinRules": True}, {"no-verify": rule_text(condition="zzz")}, []),
    ):
        async with ruled(tmp_path / name, files, bad, OK, ttsr=ttsr) as hosted:
            await hosted.session.prompt("go")
            assert (name, recorded(hosted)) == (name, expected)


async def test_nothing_is_matched_while_stream_rules_are_off(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, steps=(BAD,)) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == ["user", "assistant:stop"]
        policies = hosted.host.contributed.policies()
        assert [p for p in policies if hasattr(p, "_policy")] == []


async def test_rules_of_a_project_without_trust_are_not_used(tmp_path: Path) -> None:
    async with ruled(tmp_path, {}, OK) as hosted:
        hosted.fixture.write("project/.cursorrules", rule_text(condition="FORBIDDEN"))
    settings = {"ttsr": {"enabled": True, "builtinRules": False}}
    async with extension_session(
        tmp_path, extension, steps=(BAD,), settings=settings, approve=False
    ) as hosted:
        await hosted.session.prompt("go")

        assert roles(hosted) == ["user", "assistant:stop"]


async def test_rules_apply_in_nested_sessions(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with ruled(tmp_path, {"word": WORD}, BAD, OK, extensions=(apis.append,)) as hosted:
        handle = await apis[0].sub_session(SubSession(prompt="go", extensions="all"))
        result = await handle.result()

        assert "ok" in str(result)
        assert len(hosted.fixture.provider.requests) == 2
