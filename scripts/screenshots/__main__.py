"""Makes the pictures and the recording of the documentation from real runs.

``.venv/bin/python -m scripts.screenshots [NAME...]``

``--review FOLDER [--width N]... [--theme NAME]... [SCENE...]`` draws every screen of the
application as PNG for a visual review: in both neutral themes and at 40, 80 and 120 columns unless
others are named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pi.version import __version__
from scripts.screenshots.battery_scenes import BATTERY_SCENES
from scripts.screenshots.loopback_model import PAUSE, Answer, serving
from scripts.screenshots.program import Seen, running
from scripts.screenshots.scenes import SCENES, WIDTHS, opened, review
from scripts.screenshots.svg import DARK, LIGHT, Cell, Frame, picture, recording

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
ENTER = "\r"


def _tour(seen: Seen) -> None:
    seen.type("Show me around" + ENTER)
    seen.wait_for("log in with /login")


def _tree(seen: Seen) -> None:
    _tour(seen)
    seen.type("/tree" + ENTER)
    seen.wait_for("Session Tree", "user: Show me around")


def _models(seen: Seen) -> None:
    seen.type("/model" + ENTER)
    seen.wait_for("Enter use")
    seen.type("sonnet")
    seen.wait_for("> sonnet", "anthropic/")


class Shot(NamedTuple):
    """One picture: what it shows, and what the user does for it."""

    title: str
    act: Callable[[Seen], None]
    rows: int = 36
    env: Mapping[str, str] = {}


SHOTS = {
    "transcript": Shot("pi writes, changes and runs a file", _tour, rows=40),
    "tree": Shot("The tree of a session", _tree),
    "models": Shot("Choosing a model", _models, rows=24, env={"ANTHROPIC_API_KEY": "none"}),
}


DESIGN = {
    "dialog": ("trust", "The frame of every dialog: title, message, list, hints", "dark"),
    "list": ("login", "The list: groups, one arrow, facts on the right", "dark"),
    "table": ("usage", "A page: heading, table, bars with labels", "light"),
    "error": ("error", "Calls that failed", "dark"),
    "approval": ("permission-edit", "A question about a change", "dark"),
    "theme": ("theme", "A theme is previewed while it is selected", "light"),
}
"""Pictures of single screens: the scene, the title and the theme."""
STATES = {"queued": 5, "interrupted": 4, "retrying": 4, "compacting": 2}
"""States, and the rows of each: its lines, and the editor without its lower border."""
BELOW = 3
"""The lower border and the footer."""


def take_states(folder: Path) -> str:
    """One picture of the lines of all states."""
    rows: list[list[Cell]] = []
    for name, high in STATES.items():
        with opened(SCENES[name], folder / name, columns=80, theme="dark") as seen:
            SCENES[name].act(seen)
            rows += [*seen.cells()[-BELOW - high : -BELOW], []]
    return picture(rows[:-1], title="Queued, interrupted, retrying, compacting")


def take_narrow(folder: Path) -> str:
    """The transcript in 40 columns."""
    with opened(SCENES["tools"], folder, columns=40, theme="dark") as seen:
        SCENES["tools"].act(seen)
        return picture(seen.cells()[:33], title="Tool calls in 40 columns")


def take_scene(name: str, folder: Path) -> str:
    """A picture of the design language, from a run whose home is in ``folder``."""
    scene, title, theme = DESIGN[name]
    shown = (SCENES | BATTERY_SCENES)[scene]
    with opened(shown, folder, columns=80, theme=theme) as seen:
        shown.act(seen)
        return picture(seen.cells()[-30:], title=title, paper=LIGHT if theme == "light" else DARK)


RECORDING = "Recorded from a run of pi; a script on 127.0.0.1 plays the model"
PROJECT = {
    "stats.py": """\
def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle]
""",
    "test_stats.py": """\
import unittest

from stats import median


class Median(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even(self):
        self.assertEqual(median([4, 1, 2, 3]), 2.5)


if __name__ == "__main__":
    unittest.main()
""",
}
TESTS = "python3 -B test_stats.py 2>&1 | tail -n 5"
ANSWERS = (
    Answer("I run the tests first.", "bash", {"command": TESTS}),
    Answer("One test fails. The code:", "read", {"path": "stats.py"}),
    Answer(
        "`median` ignores lists of even length. I change the last line.",
        "edit",
        {
            "path": "stats.py",
            "edits": [
                {
                    "oldText": "    return ordered[middle]\n",
                    "newText": "    if len(ordered) % 2:\n        return ordered[middle]\n"
                    "    return (ordered[middle - 1] + ordered[middle]) / 2\n",
                }
            ],
        },
    ),
    Answer("The tests again:", "bash", {"command": TESTS}),
    Answer(
        "Fixed: for an even number of values `median` now returns the **mean of the two middle "
        "values**. Both tests pass."
    ),
)
PROMPT = "The tests fail. Find out why and fix it."
TYPING, LONGEST, LAST = 0.15, 1.2, 5.0
"""Seconds that a frame is shown: while the user types, at most, and at the end."""


PLAN = """\
# Discounts in the cart

1. `cart.py`: `total(items, discount=0)` subtracts a share of the sum and rounds to cents.
2. `test_cart.py`: one test for 10 %, one for no discount.
3. Check with `python3 -m pytest -q`.

Left open: vouchers, which need a table of their own.
"""
CART = {
    "cart.py": 'def total(items):\n    return sum(item["price"] for item in items)\n',
}
ROUNDING = {
    "id": "rounding",
    "header": "Rounding",
    "question": "How should a discounted total be rounded?",
    "recommended": 0,
    "options": [
        {
            "label": "To cents",
            "description": "as invoices do",
            "preview": "total(items, discount=0.1)\n→ 6.3",
        },
        {
            "label": "Not at all",
            "description": "callers decide",
            "preview": "total(items, discount=0.1)\n→ 6.300000000000001",
        },
    ],
}
PLANNING = (
    Answer("I read the cart first.", "bash", {"command": "cat cart.py"}),
    Answer("A change is prevented in plan mode:", "bash", {"command": "echo x >> cart.py"}),
    Answer("One thing is yours to decide.", "ask", {"questions": [ROUNDING]}),
    Answer("", "propose_plan", {"title": "Discounts in the cart", "plan": PLAN}),
    Answer("", "edit", {"path": "cart.py", "edits": [
        {"oldText": "(items):", "newText": "(items, discount=0):"},
        {
            "oldText": '    return sum(item["price"] for item in items)',
            "newText": '    whole = sum(item["price"] for item in items)\n'
            "    return round(whole * (1 - discount), 2)",
        },
    ]}),
    Answer("`total` takes a discount now, and rounds to cents."),
)  # fmt: skip


def take_plan(until: str, title: str, folder: Path) -> str:
    """The story of a plan, as far as the screen that shows ``until``."""
    project, agent = folder / "project", folder / ".pi" / "agent"
    for place in (project, agent):
        place.mkdir(parents=True)
    for name, text in CART.items():
        (project / name).write_text(text)
    with serving(PLANNING) as address:
        provider = {
            "baseUrl": address,
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": "model", "contextWindow": 200_000}],
        }
        settings = {
            "lastChangelogVersion": __version__,
            "plan": {"enabled": True},
            "ask": {"enabled": True},
        }
        (agent / "models.json").write_text(json.dumps({"providers": {"loopback": provider}}))
        (agent / "settings.json").write_text(json.dumps(settings))
        program = str(Path(sys.executable).with_name("pi"))
        command = [program, "--model", "loopback/model", "--plan-mode"]
        with running(command, cwd=project, env=_environment(folder), rows=40) as seen:
            seen.wait_for("(loopback) model", "plan mode")
            seen.type("Add discounts to the cart" + ENTER)
            for screen in ("To cents", "Approve and compact", "rounds to cents."):
                seen.wait_for(screen)
                if screen == until:
                    break
                seen.type(ENTER)
            return picture(seen.cells(), title=title)


PLAN_STORY = {
    "ask": ("To cents", "A question of the model, in plan mode"),
    "plan": ("Approve and compact", "A plan is proposed; nothing was changed so far"),
    "plan-approved": ("rounds to cents.", "The approved plan is carried out"),
}


def take(shot: Shot, folder: Path) -> str:
    """The picture, from a run whose home is in ``folder``."""
    project = folder / "project"
    project.mkdir(parents=True)
    program = str(Path(sys.executable).with_name("pi"))
    env = {**_environment(folder), **shot.env}
    with running([program, "--model", "demo/tour"], cwd=project, env=env, rows=shot.rows) as seen:
        seen.wait_for("(demo) tour")
        shot.act(seen)
        return picture(seen.cells(), title=shot.title)


def take_story(until: Sequence[str], rows: int, title: str, folder: Path) -> str:
    """A plan that three agents carry out, as far as the screen that shows ``until``."""
    project, agent = folder / "project", folder / ".pi" / "agent"
    for place in (project, agent):
        place.mkdir(parents=True)
    for name, text in CART.items():
        (project / name).write_text(text)
    on = {"plan": {"enabled": True}, "task": {"enabled": True}}
    (agent / "settings.json").write_text(json.dumps({"lastChangelogVersion": __version__, **on}))
    model = Path(__file__).with_name("story_model.py")
    program = str(Path(sys.executable).with_name("pi"))
    command = [program, "-e", str(model), "--model", "faux/faux", "--plan-mode"]
    with running(command, cwd=project, env=_environment(folder), rows=rows) as seen:
        seen.wait_for("(faux) faux", "plan mode")
        seen.type("Add discounts to the cart" + ENTER)
        seen.wait_for("Approve and compact")
        if "Approve and compact" not in until:
            seen.type(ENTER)
            seen.wait_for(*until)
        return picture(seen.cells(), title=title)


AGENT_STORY = {
    "story-plan": (("Approve and compact",), 36, "A scout has looked; the plan waits for you"),
    "story-review": (("the review approves",), 36, "Three agents carry it out, one reviews"),
}


def take_agents(folder: Path) -> str:
    """Sub-agents at work, and the screen of ``/agents``."""
    project, agent = folder / "project", folder / ".pi" / "agent"
    for place in (project, agent):
        place.mkdir(parents=True)
    (agent / "settings.json").write_text(
        json.dumps({"lastChangelogVersion": __version__, "task": {"enabled": True}})
    )
    model = Path(__file__).with_name("agents_model.py")
    program = str(Path(sys.executable).with_name("pi"))
    command = [program, "-e", str(model), "--model", "faux/faux"]
    with running(command, cwd=project, env=_environment(folder), rows=32) as seen:
        seen.wait_for("(faux) faux")
        seen.type("Find the orders, review the last commit, fix the prices." + ENTER)
        seen.wait_while_moving("✓ find-orders", "review.callers", "python -m unittest")
        seen.type("/agents" + ENTER)
        seen.wait_while_moving("Enter transcript", "running")
        return picture(seen.cells(), title="Sub-agents at work, and /agents")


@contextmanager
def bug_fix(folder: Path, *, pause: float, settings: Mapping[str, Any] = {}) -> Iterator[Seen]:
    """A session in a project with a bug; the model fixes it when it gets a prompt."""
    project, agent = folder / "project", folder / ".pi" / "agent"
    for place in (project, agent):
        place.mkdir(parents=True)
    for name, text in PROJECT.items():
        (project / name).write_text(text)
    with serving(ANSWERS, pause=pause) as address:
        provider = {
            "baseUrl": address,
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": "model", "contextWindow": 200_000}],
        }
        (agent / "models.json").write_text(json.dumps({"providers": {"loopback": provider}}))
        written = {"lastChangelogVersion": __version__, **settings}
        (agent / "settings.json").write_text(json.dumps(written))
        program = str(Path(sys.executable).with_name("pi"))
        command = [program, "--model", "loopback/model"]
        with running(command, cwd=project, env=_environment(folder), rows=34) as seen:
            seen.wait_for("(loopback) model")
            yield seen


def take_rewind(folder: Path) -> str:
    """What a rewind would change, before anything is restored."""
    with bug_fix(folder, pause=0, settings={"rewind": {"enabled": True}}) as seen:
        seen.type(PROMPT + ENTER)
        seen.wait_for("Both tests pass.", "OK")
        seen.type("/rewind 1" + ENTER)
        seen.wait_for("Enter choose what to restore")
        return picture(seen.cells()[-26:], title="What a rewind would change")


def record(folder: Path) -> str:
    """The recording of a bug fix, from a run whose home is in ``folder``."""
    with bug_fix(folder, pause=PAUSE) as seen:
        frames: list[Frame] = []
        for typed in range(0, len(PROMPT), 4):
            seen.type(PROMPT[typed : typed + 4])
            typing = seen.record_until(PROMPT[: typed + 4].rstrip())
            frames.append(Frame(TYPING, typing[-1].rows))
        seen.type(ENTER)
        frames += seen.record_until("Both tests pass.", "OK")
    frames = [Frame(min(frame.seconds, LONGEST), frame.rows) for frame in frames]
    return recording([*frames[:-1], Frame(LAST, frames[-1].rows)], title=RECORDING)


def _environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PI_OFFLINE": "1",
    }


def main(names: Sequence[str]) -> None:
    """Make the named pictures, or all; their paths are the same in every run."""
    IMAGES.mkdir(exist_ok=True)
    home = Path(tempfile.gettempdir()) / "ada"
    makers: dict[str, Callable[[Path], str]] = {"recording": record}
    makers |= {name: partial(take, shot) for name, shot in SHOTS.items()}
    makers |= {name: partial(take_scene, name) for name in DESIGN}
    makers |= {name: partial(take_plan, *story) for name, story in PLAN_STORY.items()}
    makers |= {name: partial(take_story, *story) for name, story in AGENT_STORY.items()}
    makers |= {"states": take_states, "narrow": take_narrow}
    makers |= {"rewind": take_rewind, "agents": take_agents}
    for name in names or makers:
        home.mkdir()  # the user's own is not touched
        try:
            (IMAGES / f"{name}.svg").write_text(makers[name](home), encoding="utf-8")
        finally:
            shutil.rmtree(home)


def command(arguments: Sequence[str]) -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="scripts.screenshots", description=__doc__)
    parser.add_argument("--review", type=Path, metavar="FOLDER")
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--theme", action="append")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    if options.review is None:
        main(options.names)
    else:
        themes = options.theme or ("dark", "light")
        scenes = SCENES | BATTERY_SCENES
        chosen = {name: scenes[name] for name in options.names or scenes}
        review(options.review, chosen, options.width or WIDTHS, themes)


if __name__ == "__main__":
    command(sys.argv[1:])
