from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pi.modes.interactive.status.footer import FooterFacts
from pi.modes.interactive.status.last_footer import FILE, MAX_STORED, LastFooters
from tests.modes.interactive.app_fixture import AppFixture

FACTS = FooterFacts(
    cwd="~/project", provider="faux", model="one", context_window=1000, is_automatic=True
)


def footers(
    tmp_path: Path,
    *,
    cwd: str = "project",
    environ: Mapping[str, str] | None = None,
    options: Sequence[str] | None = (),
) -> LastFooters:
    (tmp_path / cwd).mkdir(exist_ok=True)
    return LastFooters(tmp_path, tmp_path / cwd, environ or {}, options)


def shows_stored_facts(tmp_path: Path, **changes: object) -> bool:
    return footers(tmp_path, **changes).find("~") is not None  # type: ignore[arg-type]


def test_the_next_start_shows_the_model_and_nothing_of_the_conversation(tmp_path: Path) -> None:
    footers(tmp_path).store(
        FooterFacts(
            cwd="~/project",
            branch="main",
            session_name="Old",
            input=5,
            cost=1.0,
            context_percent=50.0,
            context_window=1000,
            is_automatic=True,
            provider="faux",
            model="one",
        )
    )

    assert footers(tmp_path).find("~/other") == FooterFacts(
        cwd="~/other",
        provider="faux",
        model="one",
        context_percent=0.0,
        context_window=1000,
        is_automatic=True,
    )


def test_the_cached_footer_is_not_used_if_the_model_may_have_changed(tmp_path: Path) -> None:
    footers(tmp_path).store(FACTS)

    assert shows_stored_facts(tmp_path)
    assert shows_stored_facts(
        tmp_path, cwd="other"
    )  # nothing in either folder decides about the model
    assert not shows_stored_facts(tmp_path, options=("model=two",))
    assert not shows_stored_facts(tmp_path, options=None)  # a stored session has its own model
    assert not shows_stored_facts(tmp_path, environ={"ANTHROPIC_API_KEY": "none"})
    assert shows_stored_facts(tmp_path, environ={"WINDOWID": "7"})


@pytest.mark.parametrize("name", ["settings.json", "auth.json", "project/.pi/settings.json"])
def test_the_cached_footer_is_not_used_after_a_change_of_a_file(tmp_path: Path, name: str) -> None:
    footers(tmp_path).store(FACTS)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{}")
    assert not shows_stored_facts(tmp_path)

    footers(tmp_path).store(FACTS)
    assert shows_stored_facts(tmp_path)
    os.utime(tmp_path / name, (1, 1))
    assert not shows_stored_facts(tmp_path)


def test_no_secret_is_stored(tmp_path: Path) -> None:
    footers(tmp_path, environ={"ANTHROPIC_API_KEY": "v4lue"}).store(FACTS)
    assert "v4lue" not in (tmp_path / FILE).read_text()


def test_only_the_last_footers_are_kept(tmp_path: Path) -> None:
    for number in range(MAX_STORED + 1):
        footers(tmp_path, options=(f"model={number}",)).store(FACTS)
    assert not shows_stored_facts(tmp_path, options=("model=0",))
    assert shows_stored_facts(tmp_path, options=("model=1",))


def test_folders_with_own_settings_have_own_footers(tmp_path: Path) -> None:
    for name in ("project", "other"):
        (tmp_path / name / ".pi").mkdir(parents=True)
        (tmp_path / name / ".pi" / "settings.json").write_text("{}")
        os.utime(tmp_path / name / ".pi" / "settings.json", (1, 1))
    footers(tmp_path).store(FACTS)
    assert shows_stored_facts(tmp_path)
    assert not shows_stored_facts(tmp_path, cwd="other")


@pytest.mark.parametrize("content", [b"", b"{}", b'[{"a": 1}]', b"\xff"])
def test_an_invalid_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert not shows_stored_facts(tmp_path)
    footers(tmp_path).store(FACTS)
    assert shows_stored_facts(tmp_path)


async def test_the_first_frame_of_the_second_start_has_the_model(tmp_path: Path) -> None:
    first = AppFixture(tmp_path)
    first.model_options = ()
    async with first.running():
        await first.until(lambda: (first.fixture.agent_dir / FILE).exists())
        await first.sees("(faux) ")

    second = AppFixture(tmp_path / "again")
    second.model_options = ()
    second.fixture = first.fixture
    second.held_back()
    async with second.starting():
        await second.sees("(faux) ")
        assert not any("loading…" in row for row in second.terminal.screen)
