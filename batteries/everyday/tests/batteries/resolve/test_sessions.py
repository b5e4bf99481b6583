"""``resolve`` in real sessions, with a script as the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.resolve.adapter import can_be_forced, extension, tier
from pi.batteries.resolve.views import resolve as view
from pi.coding.port.drawing import PlainTheme
from pi.extension import (
    ExtensionAPI,
    PendingAction,
    Request,
    SessionControl,
    ToolFailed,
    ToolView,
    ViewOptions,
    replace,
)
from pi.testing import FAUX_MODEL
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

FORCED = {"type": "tool", "name": "resolve"}


def proposing(pi: ExtensionAPI) -> None:
    """Previews changes; one of them fails when it is applied."""

    @pi.tool(deferrable=True)
    async def propose(change: str) -> str:
        """Propose a change."""

        def apply(reason: str) -> str:
            if change == "bad":
                raise ToolFailed("The file has changed.")
            return f"applied {change} because {reason}"

        pi.push_pending_action(
            PendingAction(
                label=change,
                apply=apply,
                reject=(lambda reason: f"undone: {reason}") if change == "b" else None,
                source_tool_name="propose",
            )
        )
        return "Previewed."


def decide(action: str, reason: str = "why") -> Step:
    return calls("resolve", action=action, reason=reason)


def results(hosted: ExtensionFixture) -> list[ToolResultMessage]:
    return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def texts(hosted: ExtensionFixture) -> list[str]:
    return [m.content[0].text for m in results(hosted)]  # type: ignore[union-attr]


def leaf(hosted: ExtensionFixture) -> str:
    return str(hosted.session.entries.log.leaf_id)


def opened(tmp_path: Path, *steps: Step, **options: Any) -> Any:
    return extension_session(tmp_path, extension, proposing, steps=steps, **options)


async def test_a_pending_preview_forces_a_resolve_call(tmp_path: Path) -> None:
    steps = (calls("propose", change="x"), decide("apply", "it is right"), says("done"))
    async with opened(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        requests = hosted.fixture.provider.requests
        assert [r.options.tool_choice for r in requests] == [None, FORCED, None]
        assert texts(hosted)[-1] == "applied x because it is right"
        assert results(hosted)[-1].details == {
            "action": "apply",
            "reason": "it is right",
            "label": "x",
            "sourceToolName": "propose",
            "remaining": [],
        }
        assert "resolve" in hosted.session.active_tools
        assert hosted.failures == []


async def test_the_newest_preview_is_resolved_first(tmp_path: Path) -> None:
    steps = (
        *(calls("propose", change=change) for change in "ab"),
        *(decide("discard", "no"), decide("discard"), decide("apply"), says("done")),
    )
    async with opened(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        assert texts(hosted)[2:] == [
            "undone: no",
            "Discarded: a",
            "No pending action to resolve. Nothing to apply or discard.",
        ]
        assert [m.is_error for m in results(hosted)[2:]] == [False, False, True]


async def test_a_preview_is_dropped_when_applying_it_fails(tmp_path: Path) -> None:
    steps = (calls("propose", change="bad"), decide("apply"), decide("apply"), says("done"))
    async with opened(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        assert texts(hosted)[1:] == [
            "The file has changed.",
            "No pending action to resolve. Nothing to apply or discard.",
        ]


async def test_a_model_without_forced_tool_choice_receives_a_reminder(tmp_path: Path) -> None:
    steps = (calls("propose", change="x"), decide("apply"), says("done"))
    settings = {"resolve": {"toolChoice": "remind"}}
    async with opened(tmp_path, *steps, settings=settings) as hosted:
        await hosted.session.prompt("go")

        requests = hosted.fixture.provider.requests
        assert [r.options.tool_choice for r in requests] == [None, None, None]
        reminded = ["previewed change is pending: x" in str(r.messages[-1]) for r in requests]
        assert reminded == [False, True, False]
        assert not any("system-reminder" in str(m) for m in hosted.session.messages)


@pytest.mark.parametrize(
    ("model", "thinking", "forced"),
    [
        ({"api": "anthropic-messages"}, "high", True),
        ({"api": "openai-completions", "provider": "deepseek"}, "high", False),
        ({"api": "openai-completions", "provider": "deepseek"}, "off", True),
        ({"api": "openai-completions", "provider": "openai"}, "high", True),
        ({"api": "bedrock-converse-stream", "id": "meta.llama3"}, "off", False),
        ({"api": "bedrock-converse-stream", "id": "us.anthropic.claude"}, "off", True),
    ],
)
def test_forced_tool_choice_depends_on_the_model(
    model: dict[str, str], thinking: Any, forced: bool
) -> None:
    request = Request(model=replace(FAUX_MODEL, **model), thinking=thinking, messages=(), tools=())

    assert can_be_forced(request) is forced


async def test_previews_are_dropped_when_moving_to_another_branch(tmp_path: Path) -> None:
    steps = (
        says("hello"),
        calls("propose", change="x"),
        says("waiting"),
        decide("apply"),
        says(""),
    )
    async with opened(tmp_path, *steps) as hosted:
        session = hosted.session
        await session.prompt("first")
        early = leaf(hosted)
        await session.prompt("second")
        late = leaf(hosted)
        assert hosted.host.pending_actions.has_pending

        await SessionControl(session).navigate_tree(early)
        assert not hosted.host.pending_actions.has_pending
        await SessionControl(session).navigate_tree(late)
        await session.prompt("third")

        assert texts(hosted)[-1] == (
            "No pending action to resolve. Nothing to apply or discard. Pending actions do not"
            " survive a reload, a resumed session or a move to another branch, so this preview is"
            " gone: x. Nothing was changed. Run the tool again for a new preview."
        )


def test_applying_is_a_write_and_discarding_is_a_read() -> None:
    assert (tier({"action": "discard"}), tier({"action": "apply"}), tier({})) == (
        "read",
        "write",
        "write",
    )


async def test_previews_are_dropped_by_a_reload(tmp_path: Path) -> None:
    steps = (calls("propose", change="x"), says("waiting"), decide("apply"), says("done"))
    async with opened(tmp_path, *steps) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.sessions.reload()
        await hosted.session.prompt("second")

        assert "so this preview is gone: x. Nothing was changed." in texts(hosted)[-1]


def call(**fields: Any) -> ToolView:
    details = {
        "action": "apply",
        "reason": "right",
        "label": "3 files",
        "sourceToolName": "ast_edit",
        "remaining": ["older"],
    }
    text = "\n".join(f"line {n}" for n in range(8))
    return ToolView(
        **{"id": "1", "name": "resolve", "arguments": {}, "state": "done", "text": text}
        | {"details": details}
        | fields
    )


def test_the_view_shows_the_label_and_hides_long_results() -> None:
    collapsed = view(call(), ViewOptions(), PlainTheme())
    expanded = view(call(), ViewOptions(expanded=True), PlainTheme())

    assert collapsed is not None and expanded is not None
    assert collapsed[:3] == ["applied 3 files", "ast_edit: right", "still pending: older"]
    assert collapsed[-1] == "… 3 more lines"
    assert expanded[-1] == "line 7"
    assert view(call(state="failed"), ViewOptions(), PlainTheme()) is None
