from __future__ import annotations

import asyncio
from pathlib import Path

from pi.ai.providers.faux import says
from tests.coding.extension_host.stage import playing


async def test_a_session_that_is_closed_leaves_nothing_of_its_extensions(tmp_path: Path) -> None:
    async with playing(tmp_path, steps=(says("1"),)) as play:
        session = play.host.session
        session.runs.prompt("hello", (), expand=False, meta={})
        session.place.http()
    names = {task.get_name() for task in asyncio.all_tasks()}

    assert not names & {"run of an extension", "extension event"}
    assert play.stage.reports == []
