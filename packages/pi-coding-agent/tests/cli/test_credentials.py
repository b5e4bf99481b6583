from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.resolve import how_to_get
from pi.ai.providers.rows import BUILT_IN
from pi.cli.credentials import Check, Credentials, MissingTarget, NoCredentials
from pi.coding.models.starting import UnknownModel


def credentials(tmp_path: Path, reported: list[str] | None = None, **environ: str) -> Credentials:
    messages: list[str] = [] if reported is None else reported
    return Credentials.of({"HOME": str(tmp_path), **environ}, report=messages.append)


def test_the_target_is_a_provider_or_the_provider_of_a_model(tmp_path: Path) -> None:
    stored = credentials(tmp_path)

    assert stored.target("anything", None) == "anything"
    assert stored.target(None, "demo/tour") == "demo"
    with pytest.raises(MissingTarget):
        stored.target(None, None)
    with pytest.raises(UnknownModel):
        stored.target(None, "no such model")


async def test_an_api_key_of_the_models_file_is_used(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text(
        '{"providers": {"mine": {"baseUrl": "http://x", "api": "openai-completions",'
        ' "apiKey": "k", "models": [{"id": "m"}]}}}'
    )
    stored = credentials(tmp_path)

    assert (await stored.resolved("mine")).source == "models.json"
    assert await stored.check("mine") == (
        Check(status="ready", provider="mine", auth_type="api_key"),
        "",
    )
    await stored.models.close()


async def test_a_broken_models_file_is_reported_once(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text("{nope")
    reported: list[str] = []

    await credentials(tmp_path, reported).models.close()

    assert len(reported) == 1


async def test_an_unknown_provider_has_no_credentials(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match='Unknown provider "unknown"'):
        await credentials(tmp_path).resolved("unknown")


def test_every_provider_has_a_hint_how_to_get_credentials() -> None:
    reported = [how_to_get(row) for row in BUILT_IN]

    assert all(text.startswith("To use ") and "pi auth login" in text for text in reported)
