from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.ai.models.public_lists import from_vercel
from scripts.catalog import generate
from scripts.catalog.sources import SOURCES
from tests.ai.loopback import site

FACTS = {
    "providers": {
        "anthropic": {
            "m": {
                "id": "m",
                "name": "M",
                "api": "anthropic-messages",
                "baseUrl": "https://x",
                "contextWindow": 10,
                "maxTokens": 5,
            }
        }
    }
}


def test_a_facts_file_is_written_as_one_file_per_provider_with_one_line_per_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps(FACTS))
    arguments = ["--facts", str(facts), "--out", str(tmp_path / "out"), "--date", "2026-11-10"]

    assert generate.main([*arguments, "--check"]) == 1
    assert generate.main(arguments) == 0
    assert generate.main([*arguments, "--check"]) == 0

    assert capsys.readouterr().out == "2 files, 1 models\n"
    written = (tmp_path / "out/anthropic.json").read_text()
    assert written.count("\n") == 3
    assert json.loads(written)[0]["provider"] == "anthropic"
    assert (tmp_path / "out/made-at.txt").read_text() == "2026-11-10\n"


def test_an_invalid_facts_file_is_reported_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text("{")

    assert generate.main(["--facts", str(facts), "--out", str(tmp_path / "out")]) == 1

    assert str(facts) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


async def test_the_public_lists_are_fetched_and_joined() -> None:
    pages = {
        "/dev": {"openai": {"models": {"g": {"tool_call": True}}}},
        "/router": {"data": [{"id": "a/b", "supported_parameters": ["tools"]}]},
        "/vercel": {"data": []},
    }
    async with site(pages) as server:
        listing = await generate.fetch(
            {
                name: (server.url + path, understand)
                for (name, (_, understand)), path in zip(SOURCES.items(), pages, strict=True)
            }
        )

    assert {provider: sorted(models) for provider, models in listing.items()} == {
        "openai": ["g"],
        "openrouter": ["a/b"],
        "vercel-ai-gateway": [],
    }


async def test_a_list_that_cannot_be_fetched_stops_the_generator() -> None:
    async with site({}) as server:
        with pytest.raises(ValueError, match=r"vercel: .* answered with status 404"):
            await generate.fetch({"vercel": (f"{server.url}/gone", from_vercel)})
