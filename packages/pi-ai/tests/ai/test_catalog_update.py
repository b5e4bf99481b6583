from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.storage import AuthStorage
from pi.ai.catalog_update import AGAIN_MS, EVERY_MS, CatalogUpdate, SourceResult
from pi.ai.collection import Models
from pi.ai.factory import create_models
from pi.ai.models.catalog import bundled_at
from pi.ai.models.custom import CustomModels, CustomProvider
from pi.ai.models.updates import read_update
from pi.base.testing import FakeClock
from tests.ai.loopback import NOWHERE, site

NOW = bundled_at() + 10 * EVERY_MS
DEFAULT = "claude-opus-5-5"


class Fixture:
    """Models of a user whose Anthropic requests go to a server on this machine."""

    def __init__(self, folder: Path, url: str = "", key: str = "K") -> None:
        self.path = folder / "models-update.json"
        self.folder = folder
        self.clock = FakeClock(now_ms=NOW)
        own = CustomProvider(id="anthropic", base_url=url, api_key=key)
        self.models: Models = create_models(
            environ=NOWHERE,
            clock=self.clock,
            folder=folder,
            storage=AuthStorage(folder / "auth.json"),
            custom=CustomModels(providers=(own,) if url else ()),
        )

    async def run(self, *sources: str, **options: Any) -> tuple[SourceResult, ...]:
        update = CatalogUpdate(self.models, self.path, sources=sources, cwd=self.folder, **options)
        return await update.run(self.models.services())

    def window(self, model_id: str = DEFAULT) -> int | None:
        model = self.models.get_model("anthropic", model_id)
        return model.context_window if model else None

    def write(self, name: str, **models: Any) -> str:
        document = {"providers": {"anthropic": models, "unknown": {"m": {}}}}
        (self.folder / name).write_text(json.dumps(document))
        return name


async def test_a_file_changes_limits_and_prices_and_adds_models(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    facts = {DEFAULT: {"contextWindow": 7, "baseUrl": "x"}, "claude-opus-6": {"cost": {"input": 1}}}

    [result] = await fixture.run(fixture.write("own.json", **facts))
    await fixture.models.close()

    assert result == SourceResult(name="own.json", models=2, changes=2)
    assert fixture.window() == 7
    new = fixture.models.get_model("anthropic", "claude-opus-6")
    assert new is not None
    assert (new.cost.input, new.base_url, new.api) == (
        *(1, "https://api.anthropic.com", "anthropic-messages"),
    )
    assert read_update(fixture.path).next_at == NOW + EVERY_MS
    assert fixture.path.stat().st_mode & 0o777 == 0o600


async def test_a_document_of_a_url_and_the_list_of_a_provider_are_read(tmp_path: Path) -> None:
    listed = [
        {"id": DEFAULT, "max_input_tokens": 900},
        {"id": "claude-opus-6", "max_input_tokens": 800},
        {"id": "claude-embed-1"},
        {"id": "claude-voice", "type": "audio"},
    ]
    public = {"anthropic": {"models": {DEFAULT: {"tool_call": True, "limit": {"context": 5}}}}}
    async with site({"/v1/models?limit=1000": {"data": listed}, "/api.json": public}) as server:
        fixture = Fixture(tmp_path, server.url)
        results = await fixture.run("providers", f"{server.url}/api.json")
        await fixture.models.close()

    assert [(result.name, result.models, result.error) for result in results] == [
        ("providers:anthropic", 2, ""),
        (f"{server.url}/api.json", 1, ""),
    ]
    assert (fixture.window(), fixture.window("claude-opus-6")) == (900, 800)
    assert fixture.models.get_model("anthropic", "claude-voice") is None
    keys = {path: headers.get("x-api-key") for _, path, headers, _ in server.asked}
    assert keys == {"/v1/models?limit=1000": "K", "/api.json": None}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((500, {}), "status 500"),
        ((302, "/elsewhere"), "status 404"),
        (b"<html>", "not JSON"),
        ([], "it is not a list of models"),
        ({"providers": {"anthropic": {DEFAULT: {"contextWindow": -1}}}}, "most of its entries"),
        ({"providers": {"anthropic": {str(n): {} for n in range(5001)}}}, "it lists 5001 models"),
        ({"providers": {"anthropic": {DEFAULT: []}}}, "it is not a list of models"),
        ({"providers": {"unknown": {"m": {}}}}, "it lists no model of a known provider"),
    ],
)
async def test_a_bad_answer_changes_nothing(answer: Any, error: str, tmp_path: Path) -> None:
    good = {"providers": {"anthropic": {DEFAULT: {"contextWindow": 5}}}}
    pages: dict[str, Any] = {"/facts": good}
    async with site(pages) as server:
        fixture = Fixture(tmp_path)
        await fixture.run(f"{server.url}/facts")
        pages["/facts"] = answer
        [result] = await fixture.run(f"{server.url}/facts")
        await fixture.models.close()

    assert error in result.error
    assert fixture.window() == 5
    [state] = read_update(fixture.path).sources
    assert (state.checked_at, state.error) == (NOW, result.error)
    assert read_update(fixture.path).next_at == NOW + AGAIN_MS


async def test_a_source_that_is_no_longer_named_loses_its_facts(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    one = fixture.write("one.json", **{DEFAULT: {"contextWindow": 5}})
    two = fixture.write("two.json", **{DEFAULT: {"contextWindow": 6}})

    await fixture.run(one, two)
    assert fixture.window() == 5
    await fixture.run(two, one)
    assert fixture.window() == 6
    await fixture.run(fixture.write("three.json", **{"claude-opus-9": {}}))
    await fixture.models.close()

    assert fixture.window() not in (5, 6)


async def test_offline_only_files_are_read(tmp_path: Path) -> None:
    async with site({}) as server:
        fixture = Fixture(tmp_path, server.url)
        name = fixture.write("own.json", **{DEFAULT: {"contextWindow": 5}})
        results = await fixture.run("providers", name, f"{server.url}/x", offline=True)
        await fixture.models.close()

    assert [(result.name, result.error) for result in results] == [
        ("own.json", ""),
        (f"{server.url}/x", "pi is offline"),
    ]
    assert server.asked == []


async def test_newer_answers_of_another_process_are_not_replaced(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    await fixture.run(fixture.write("own.json", **{DEFAULT: {"contextWindow": 5}}))
    fixture.clock = FakeClock(now_ms=NOW - 1)
    slow = Fixture(tmp_path)
    slow.clock = fixture.clock
    slow.models = create_models(environ=NOWHERE, clock=fixture.clock, folder=tmp_path)

    await slow.run(slow.write("other.json", **{DEFAULT: {"contextWindow": 6}}))
    await slow.models.close()
    await fixture.models.close()

    assert fixture.window() == 5


async def test_in_the_background_it_runs_once_a_day_and_runs_no_command(tmp_path: Path) -> None:
    marker = tmp_path / "asked"
    async with site({"/f": {"providers": {"openai": {"m": {}}}}}) as server:
        fixture = Fixture(tmp_path, server.url, key=f"!touch {marker}; echo K")
        update = CatalogUpdate(
            fixture.models, fixture.path, sources=("providers", f"{server.url}/f")
        )
        for _ in range(2):
            await update.run_if_due(fixture.models.services())
        await fixture.models.close()

    assert [path for _, path, _, _ in server.asked] == ["/f"]
    assert not marker.exists()


async def test_in_the_background_the_facts_of_a_key_from_a_command_are_kept(tmp_path: Path) -> None:
    listed = {"data": [{"id": DEFAULT, "max_input_tokens": 900}]}
    async with site({"/v1/models?limit=1000": listed}) as server:
        fixture = Fixture(tmp_path, server.url, key="!echo K")
        await fixture.run("providers")
        await fixture.clock.advance(2 * EVERY_MS / 1000)
        update = CatalogUpdate(fixture.models, fixture.path, sources=("providers",))
        await update.run_if_due(fixture.models.services())
        await fixture.models.close()

    assert len(server.asked) == 1
    assert fixture.window() == 900


async def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    (tmp_path / "bad.json").write_text("{")

    results = await fixture.run("missing.json", "bad.json", str(tmp_path))
    await fixture.models.close()

    assert [bool(result.error) for result in results] == [True, True, True]
    assert results[0].error == "there is no such file"


async def test_in_the_background_nothing_is_raised(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    fixture.path.mkdir()  # cannot be replaced by a file

    update = CatalogUpdate(fixture.models, fixture.path, sources=("missing.json",))
    await update.run_if_due(fixture.models.services())
    await fixture.models.close()
