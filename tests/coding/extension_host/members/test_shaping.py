from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.providers.faux import says
from pi.coding.compaction.strategies import Declined
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.stage import playing


async def test_a_strategy_of_compaction_and_redactors_are_registered(tmp_path: Path) -> None:
    class Mine:
        async def compact(self, work: Any) -> Declined:
            asked.append(work.reason)
            return Declined(why="not today")

    asked: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.add_compaction("mine", Mine())
        pi.add_redactor(lambda text, sink: text.replace("secret", f"[{sink}]"))

    settings = {"compaction": {"strategy": "mine"}}
    async with playing(tmp_path, extension, settings=settings) as play:
        assert play.host.registries.redacted("a secret", "share") == "a [share]"
        with pytest.raises(CompactionFailed, match="not today"):
            await play.session.compact()
    assert asked == ["manual"]


async def test_what_an_extension_takes_out_is_in_no_export(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_redactor(lambda text, sink: text.replace("Project X", "[hidden]"))

    async with playing(tmp_path, extension, steps=(says("Project X is fine"),)) as play:
        await play.session.prompt("how is Project X?")
        text = (await play.session.exports.write("out.txt")).read_text()

    assert "Project X" not in text
    assert "how is [hidden]?" in text
