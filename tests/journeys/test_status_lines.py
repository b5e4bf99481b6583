"""The status lines below the footer: what they show, and how fast they follow git."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.journeys.program import Journey


def make_repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-mx")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def test_line_2_has_all_facts_and_the_footer_none_of_them_again(journey: Journey) -> None:
    make_repository(journey.home.cwd)
    journey.home.use_settings(
        tui={"statusEngine": True}, permissions={"mode": "ask"}, defaultThinkingLevel="low"
    )
    journey.home.use_model(journey.model, reasoning=True)
    with journey.terminal("--approve") as user:
        user.shows("one | low | work | main +0 -0 | ask")
        rows = user.settles().splitlines()
        assert rows[-1] == "one | low | work | main +0 -0 | ask"
        assert rows[-2].strip() == "context 0% of 128k"

        user.submits("/thinking high")
        user.shows("one | high | work")


def test_the_branch_follows_a_checkout_in_another_window_within_a_second(journey: Journey) -> None:
    make_repository(journey.home.cwd)
    journey.home.use_settings(tui={"statusEngine": {"items": ["git_branch"]}})
    with journey.terminal("--approve") as user:
        user.shows("main")
        user.settles()
        for branch in ("other", "third"):
            git(journey.home.cwd, "checkout", "-q", "-b", branch)
            began = time.monotonic()
            user.shows(branch)
            assert time.monotonic() - began < 1


def test_the_footer_follows_a_checkout_within_a_second(journey: Journey) -> None:
    make_repository(journey.home.cwd)
    with journey.terminal() as user:
        user.shows("(main)")
        user.settles()
        git(journey.home.cwd, "checkout", "-q", "-b", "other")
        began = time.monotonic()
        user.shows("(other)")
        assert time.monotonic() - began < 1
