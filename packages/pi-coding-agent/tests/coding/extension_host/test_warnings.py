"""``pi.warn`` and settings without the project's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.extension import ExtensionAPI
from tests.coding.extension_host.extension_session import FakeUI, extension_session


@pytest.mark.parametrize("has_user", [True, False])
async def test_a_problem_is_shown_to_the_user_or_reported(
    tmp_path: Path, *, has_user: bool
) -> None:
    made: list[ExtensionAPI] = []
    ui = FakeUI() if has_user else None
    async with extension_session(tmp_path, made.append, ui=ui) as hosted:
        made[0].warn("It\nfailed.")
        if ui is not None:
            assert ui.seen == [("notify", "It\nfailed.")]
            assert hosted.fixture.reports == []
        else:
            assert hosted.fixture.reports == ["It failed."]


async def test_a_value_can_be_read_without_the_settings_of_the_project(tmp_path: Path) -> None:
    made: list[ExtensionAPI] = []
    for folder, value in ((".pi/agent", "user"), ("project/.pi", "project")):
        path = tmp_path / "home" / folder / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"kit": {"mood": value}}))
    async with extension_session(tmp_path, made.append, approve=True):
        settings = made[0].settings
        assert settings.get("kit.mood") == "project"
        assert settings.get("kit.mood", with_project=False) == "user"
