from __future__ import annotations

from pathlib import Path

from pi.ai.messages import Usage
from pi.base.records import replace
from pi.modes.interactive.status.footer import FooterFacts
from pi.modes.interactive.status.footer_facts import footer_facts
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_the_facts_are_those_of_the_session(tmp_path: Path) -> None:
    usage = Usage(input=100, output=20, cache_read=300, total_tokens=420)
    fixture = SessionFixture(tmp_path, replace(says("Yes."), usage=usage))
    async with await fixture.open(name="Tidy up") as session:
        await session.prompt("hello")
        facts = footer_facts(session, home=fixture.home, branch="main")

    percent = facts.context_percent
    assert facts == FooterFacts(
        cwd="~/project",
        branch="main",
        session_name="Tidy up",
        input=100,
        output=20,
        cache_read=300,
        hit_percent=75.0,
        context_percent=percent,
        context_window=128_000,
        is_automatic=True,
        provider="faux",
        model="faux",
        level="medium",
    )
