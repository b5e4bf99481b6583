"""Hand-off: a strategy that continues in a new session with a document."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Usage
from pi.ai.providers.faux import Reply, calls, says
from pi.base.records import replace
from pi.extension import ExtensionAPI, HandOff, Work
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

DOCUMENT = "Build the roof next."


class Handing:
    """Returns a hand-off for every compaction."""

    def __init__(self, *, go_on: bool) -> None:
        self._go_on = go_on

    async def compact(self, work: Work) -> HandOff:
        return HandOff(document=DOCUMENT, go_on=self._go_on)


def handing(*, go_on: bool) -> object:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_compaction("handing", Handing(go_on=go_on))

    return extension


def settings(*, auto_continue: bool) -> dict[str, object]:
    return {"compaction": {"strategy": "handing", "autoContinue": auto_continue}}


def full(reply: Reply) -> Reply:
    """A reply that fills the window."""
    return replace(reply, usage=Usage(input=127_000, output=10, total_tokens=127_010))


def asked(hosted: ExtensionFixture, request: int) -> str:
    return str(hosted.fixture.provider.requests[request].messages)


@pytest.mark.parametrize("auto_continue", [False, True])
async def test_a_hand_off_after_an_answer_ends_the_run_and_waits_for_a_prompt(
    tmp_path: Path, auto_continue: bool
) -> None:
    steps = (full(says("walls are up")), says("roof is up"))
    options = {"steps": steps, "settings": settings(auto_continue=auto_continue)}
    async with extension_session(tmp_path, handing(go_on=False), **options) as hosted:  # type: ignore[arg-type]
        first = hosted.session.session_file
        await hosted.session.prompt("build a house")
        await hosted.session.prompt("go on")

        assert hosted.session.session_file != first
        assert len(hosted.fixture.provider.requests) == 2
        assert DOCUMENT in asked(hosted, 1)
        assert "build a house" not in asked(hosted, 1)
        assert hosted.fixture.order.count("compaction_start") == 1


@pytest.mark.parametrize("auto_continue", [False, True])
async def test_a_hand_off_with_go_on_sends_one_request_in_the_new_session(
    tmp_path: Path, auto_continue: bool
) -> None:
    steps = (full(says("walls are up")), says("roof is up"))
    options = {"steps": steps, "settings": settings(auto_continue=auto_continue)}
    async with extension_session(tmp_path, handing(go_on=True), **options) as hosted:  # type: ignore[arg-type]
        answer = await hosted.session.prompt("build a house")

        assert answer is not None
        assert answer.text == "roof is up"  # the prompt returns the answer of the new session
        assert len(hosted.fixture.provider.requests) == 2
        assert DOCUMENT in asked(hosted, 1)
        assert hosted.fixture.order.count("compaction_start") == 1


async def test_a_hand_off_after_a_tool_call_continues_in_the_new_session(tmp_path: Path) -> None:
    steps = (full(calls("bash", command="true")), says("roof is up"))
    options = {"steps": steps, "settings": settings(auto_continue=False)}
    async with extension_session(tmp_path, handing(go_on=True), **options) as hosted:  # type: ignore[arg-type]
        await hosted.session.prompt("build a house")

        assert len(hosted.fixture.provider.requests) == 2
        assert "build a house" not in asked(hosted, 1)
        assert hosted.fixture.order.count("compaction_start") == 1


async def test_a_prompt_that_waited_for_the_hand_off_is_sent_to_the_new_session(
    tmp_path: Path,
) -> None:
    steps = (full(says("walls are up")), says("roof is up"))
    options = {"steps": steps, "settings": {"compaction": {"enabled": False}}}
    async with extension_session(tmp_path, handing(go_on=True), **options) as hosted:  # type: ignore[arg-type]
        await hosted.session.prompt("build a house")
        changed = {"compaction.enabled": True, "compaction.strategy": "handing"}
        hosted.session.settings.override(changed)
        answer = await hosted.session.prompt("and paint it")

        assert answer is not None
        assert answer.text == "roof is up"
        assert len(hosted.fixture.provider.requests) == 2
        assert DOCUMENT in asked(hosted, 1)
        assert "and paint it" in asked(hosted, 1)
        assert "build a house" not in asked(hosted, 1)
