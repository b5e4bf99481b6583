"""Values that the battery of secrets hides, in what other batteries make of a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.handoff.adapter import extension as handoff
from pi.batteries.secrets.adapter import extension as secrets
from pi.batteries.snapcompact import adapter
from pi.batteries.snapcompact.adapter import extension as snapcompact
from pi.batteries.snapcompact.frames import paginate
from tests.batteries.handoff.test_handoff import DOCUMENT, asked, document
from tests.batteries.snapcompact.test_sessions import SNAP, latest, talk
from tests.coding.extension_host.extension_session import (
    extension_session,
)

pytestmark = pytest.mark.behaviour("secrets-are-hidden-everywhere")


async def test_with_the_secrets_battery_no_request_of_a_hand_off_contains_a_secret(
    tmp_path: Path,
) -> None:
    password = "correct-horse-battery"
    steps = (says("noted"), says(DOCUMENT), says("fine"))
    settings = {"secrets": {"enabled": True}}
    async with extension_session(
        tmp_path,
        handoff,
        secrets,
        steps=steps,
        settings=settings,
        environ={"SHOP_PASSWORD": password},
    ) as hosted:
        await hosted.session.prompt(f"Always use the password {password} for the shop.")
        await hosted.session.compact(strategy="handoff")
        await hosted.session.runs.when_idle.held()
        await hosted.session.prompt("go on")

        assert len(hosted.fixture.provider.requests) == 3
        assert all(password not in asked(hosted, n) for n in range(3))
        assert "Always use the password" in asked(hosted, 2)
        assert password not in str(document(hosted))


async def test_with_the_secrets_battery_no_picture_of_a_compaction_contains_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = "correct-horse-battery"
    printed: list[str] = []

    def recorded(pieces: Any, shape: Any) -> Any:
        printed_text = paginate(pieces, shape)
        printed.extend(page.text for page in printed_text.pages)
        return printed_text

    monkeypatch.setattr(adapter, "paginate", recorded)
    async with extension_session(
        tmp_path,
        snapcompact,
        secrets,
        settings={**SNAP, "secrets": {"enabled": True}},
        environ={"SHOP_PASSWORD": password},
    ) as hosted:
        hosted.fixture.provider.add(
            says("noted"), calls("bash", command="echo $SHOP_PASSWORD"), says("ok")
        )
        await hosted.session.prompt(f"Always use the password {password}.")
        await hosted.session.prompt("go")
        await talk(hosted, 5)
        await hosted.session.compact()

        entry = latest(hosted)
        assert "Always use the password" in "".join(printed)
        for text in ("".join(printed), entry.summary, str(entry.content)):
            assert password not in text
