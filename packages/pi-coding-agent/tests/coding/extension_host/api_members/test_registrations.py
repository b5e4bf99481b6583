from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.providers.faux import says
from pi.coding.compaction.strategies import Declined
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_compaction_strategies_and_redactors_are_registered(tmp_path: Path) -> None:
    class Mine:
        async def compact(self, work: Any) -> Declined:
            reasons.append(work.reason)
            return Declined(why="not today")

    reasons: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.add_compaction("mine", Mine())
        pi.add_redactor(lambda text, sink: text.replace("secret", f"[{sink}]"))

    settings = {"compaction": {"strategy": "mine"}}
    async with extension_session(tmp_path, extension, settings=settings) as hosted:
        assert hosted.host.registries.redacted("a secret", "share") == "a [share]"
        with pytest.raises(CompactionFailed, match="not today"):
            await hosted.session.compact()
    assert reasons == ["manual"]


async def test_text_that_a_redactor_removes_is_not_in_an_export(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_redactor(lambda text, sink: text.replace("Project X", "[hidden]"))

    async with extension_session(tmp_path, extension, steps=(says("Project X is fine"),)) as hosted:
        await hosted.session.prompt("how is Project X?")
        text = (await hosted.session.exports.write("out.txt")).read_text()

    assert "Project X" not in text
    assert "how is [hidden]?" in text
