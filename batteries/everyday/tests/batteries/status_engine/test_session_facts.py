from __future__ import annotations

from pathlib import Path

from pi.ai.messages import Cost
from pi.ai.models.model import ModelCost
from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.status_engine.adapter import SessionFacts
from pi.batteries.status_engine.items import ContextWindow, GitState, StatusEngineState
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.extension import (
    ExtensionAPI,
    Text,
    Usage,
    replace,
)
from pi.testing import Reply, ScriptedProvider
from tests.batteries.status_engine.samples import GIT
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import SessionFixture

ANSWER = Reply(
    blocks=(Text(text="Hello."),),
    usage=Usage(input=900, output=100, total_tokens=1000, cost=Cost(total=0.25)),
)
PRICED = replace(FAUX_MODEL, cost=ModelCost(output=2500))
"""An answer of 100 tokens costs a quarter of a dollar."""


async def test_the_state_is_composed_of_the_session_and_facts_of_other_extensions(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, apis.append) as hosted:
        [pi, other] = apis
        facts = SessionFacts(pi.context)
        other.context.ui.set_fact("sandbox", "workspace-write")
        other.context.ui.set_fact("approval", "on-request")
        await pi.set_thinking_level("high")
        await hosted.fixture.clock.advance(2)

        assert facts.state(GIT) == StatusEngineState(
            session_id=hosted.session.session_id,
            transcript_path=str(hosted.session.session_file),
            cwd=str(hosted.fixture.cwd),
            model="faux",
            model_name="Faux",
            effort="high",
            sandbox="workspace-write",
            approval="on-request",
            git=GIT,
            since_session_ms=2000,
            context=ContextWindow(size=128_000, used_percent=0.0),
        )


async def test_without_a_model_and_a_file_most_fields_are_empty(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, model=None, persistent=False) as hosted:
        [pi] = apis
        facts = SessionFacts(pi.context)

        assert facts.state(GitState()) == StatusEngineState(
            session_id=hosted.session.session_id, cwd=str(hosted.fixture.cwd)
        )


async def test_the_cost_is_the_total_of_the_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(ScriptedProvider(ANSWER, ANSWER, models=(PRICED,)))
    listening: list[SessionFacts] = []
    apis: list[ExtensionAPI] = []
    states = []

    def watch(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.on("turn_end", lambda event, ctx: listening[-1].handle_event(event))

    async with await fixture.open(
        extensions=ExtensionOptions(discover=False, inline=(watch,))
    ) as session:
        await session.start()
        for _ in range(2):
            listening.append(SessionFacts(apis[0].context))
            await session.prompt("hi")
            states.append(listening[-1].state(GIT))

    assert [state.cost_usd for state in states] == [0.25, 0.5]
    assert states[0].context == ContextWindow(size=128_000, used_percent=1000 / 1280)
