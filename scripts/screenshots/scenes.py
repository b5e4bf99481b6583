"""The screens of the visual review: what is set up and typed for each, in real runs.

``.venv/bin/python -m scripts.screenshots --review FOLDER [--width N] [--theme NAME] [SCENE...]``
draws every scene as PNG, in each theme and width. These pictures are not committed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pi.version import __version__
from scripts.screenshots.loopback_model import Answer, serving
from scripts.screenshots.program import Seen, running
from scripts.screenshots.svg import DARK, LIGHT, Cell, Paper, look

WIDTHS = (40, 80, 120)
ENTER, ESCAPE = "\r", "\x1b"
STATS = "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n"
FIXED = (
    "    middle = len(ordered) // 2\n    if len(ordered) % 2:\n        return ordered[middle]\n"
    "    return (ordered[middle - 1] + ordered[middle]) / 2\n"
)
TABLE = (
    "Done. What I did:\n\n| file | change |\n|---|---|\n| `stats.py` | the **mean** of two |\n"
    "| `notes.md` | new |\n\n1. Read it\n2. Changed it\n\n"
    "```python\nprint(median([1, 2, 3, 4]))\n```"
)
TOOLS = (
    Answer("I look around first.", "ls", {"path": "."}),
    Answer("", "read", {"path": "stats.py"}),
    Answer("", "grep", {"pattern": "def ", "path": "."}),
    Answer("", "find", {"pattern": "*.py"}),
    Answer(
        "The last line is wrong for lists of even length.",
        "edit",
        {
            "path": "stats.py",
            "edits": [{"oldText": "    return ordered[len(ordered) // 2]\n", "newText": FIXED}],
        },
    ),
    Answer("", "write", {"path": "notes.md", "content": "# Notes\n\nmedian: mean of two.\n"}),
    Answer("", "bash", {"command": "python3 -c 'import stats; print(stats.median([1, 2, 3, 4]))'"}),
    Answer(TABLE),
)
MISSED = (
    Answer(
        "",
        "edit",
        {"path": "stats.py", "edits": [{"oldText": "return nothing", "newText": "return 1"}]},
    ),
    Answer("", "bash", {"command": "ls no-such-folder && echo never"}),
    Answer("The text is not in the file."),
)


SLOW = (Answer("I write this slowly, word by word, " * 9 + "Hello."),)
WITH_TOOLS = (
    *("--model", "loopback/scripted-large"),
    *("--tools", "read,bash,edit,write,grep,find,ls"),
)


class Scene(NamedTuple):
    """One screen: how the run is set up, and what the user does."""

    act: Callable[[Seen], None]
    answers: Sequence[Answer] = (Answer("Hello."),)
    arguments: Sequence[str] = ("--model", "loopback/scripted-large")
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {"stats.py": STATS}
    home_files: Mapping[str, str] = {}
    settings: Mapping[str, object] = {}
    is_new_user: bool = False
    rows: int = 40
    pause: float = 0
    """Seconds between two words of the model."""


def _ready(seen: Seen) -> None:
    seen.wait_for("scripted-large")


def _command(text: str, *expected: str) -> Callable[[Seen], None]:
    def act(seen: Seen) -> None:
        _ready(seen)
        seen.type(text + ENTER)
        seen.wait_for(*expected)

    return act


def _send_prompt(seen: Seen, last: str = "Hello.") -> None:
    _ready(seen)
    seen.type("Fix the median" + ENTER)
    seen.wait_for(last)


def _after_prompt(text: str, *expected: str) -> Callable[[Seen], None]:
    def act(seen: Seen) -> None:
        _send_prompt(seen)
        seen.type(text + ENTER)
        seen.wait_for(*expected)

    return act


def _diff(seen: Seen) -> None:
    _send_prompt(seen, "Changed it")


def _missed(seen: Seen) -> None:
    _send_prompt(seen, "not in the file")


def _first(seen: Seen) -> None:
    seen.wait_for("Theme")


def _ways(seen: Seen) -> None:
    seen.wait_for("Theme")
    seen.type(ESCAPE)
    seen.wait_for("batteries?")
    seen.type(ESCAPE)
    seen.wait_for("How do you")


def _batteries(seen: Seen) -> None:
    seen.wait_for("Theme")
    seen.type(ESCAPE)
    seen.wait_for("batteries?")


def _trust(seen: Seen) -> None:
    seen.wait_for("Trust")


def _usage(seen: Seen) -> None:
    _diff(seen)
    seen.type("/usage" + ENTER)
    seen.wait_for("Usage")


def _session(seen: Seen) -> None:
    _diff(seen)
    seen.type("/session" + ENTER)
    seen.wait_for("Session")


def _tree(seen: Seen) -> None:
    _diff(seen)
    seen.type("/tree" + ENTER)
    seen.wait_for("Session Tree")


def _retry(seen: Seen) -> None:
    _ready(seen)
    seen.type("Fix the median" + ENTER)
    seen.wait_for("529")


def _states(text: str, *expected: str) -> Callable[[Seen], None]:
    """Type ``text`` while the model is still answering, and wait for ``expected``."""

    def act(seen: Seen) -> None:
        _ready(seen)
        seen.type("Fix the median" + ENTER)
        seen.wait_while_moving("I write")
        seen.type(text)
        seen.wait_while_moving(*expected)

    return act


def _retrying(seen: Seen) -> None:
    _ready(seen)
    seen.type("Fix the median" + ENTER)
    seen.wait_while_moving("Retrying in")


def _compacting(seen: Seen) -> None:
    _send_prompt(seen, "Hello.")
    seen.type("/compact" + ENTER)
    seen.wait_while_moving("Compacting")


def _waiting_for_login(seen: Seen) -> None:
    _ready(seen)
    seen.type("/login anthropic" + ENTER)
    seen.wait_for("How to use")
    seen.type(ENTER)
    seen.wait_for("Waiting for the login")


def _menu(seen: Seen) -> None:
    _ready(seen)
    seen.type("/")
    seen.wait_for("settings")


KEYS = {"ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none", "OPENROUTER_API_KEY": "none"}
PROJECT = {
    "stats.py": STATS,
    "AGENTS.md": "Use tabs.\n",
    ".pi/settings.json": '{"theme": "light"}',
    ".pi/extensions/hello.py": "def register(pi):\n    pass\n",
    ".pi/skills/release/SKILL.md": "---\nname: release\ndescription: Releases.\n---\nSteps.\n",
}
SCENES: dict[str, Scene] = {
    "first-start": Scene(_first, is_new_user=True, arguments=()),
    "first-ways": Scene(_ways, is_new_user=True, arguments=()),
    "first-batteries": Scene(_batteries, is_new_user=True, arguments=()),
    "start": Scene(_ready),
    "trust": Scene(_trust, files=PROJECT),
    "login": Scene(_command("/login", "Enter")),
    "models": Scene(_command("/model", "Enter"), env=KEYS),
    "theme": Scene(_command("/theme", "Enter")),
    "tools": Scene(_diff, answers=TOOLS, rows=70, arguments=WITH_TOOLS),
    "error": Scene(_missed, answers=MISSED),
    "retry": Scene(_retry, answers=()),
    "help": Scene(_command("/help", "/hotkeys."), rows=100),
    "hotkeys": Scene(_command("/hotkeys", "At the beginning"), rows=90),
    "settings": Scene(_command("/settings", "Enter")),
    "session": Scene(_session, answers=TOOLS, arguments=WITH_TOOLS, rows=50),
    "usage": Scene(_usage, answers=TOOLS, arguments=WITH_TOOLS, rows=50),
    "tree": Scene(_tree, answers=TOOLS, arguments=WITH_TOOLS),
    "resume": Scene(_after_prompt("/resume", "Enter")),
    "extensions": Scene(_command("/extensions", "Limits a session"), rows=140),
    "fullscreen": Scene(_diff, answers=TOOLS, arguments=WITH_TOOLS,
        settings={"tuiMode": "fullscreen"}, rows=30),
    "menu": Scene(_menu),
    "interrupted": Scene(_states(ESCAPE, "Interrupted"), answers=SLOW, pause=0.5),
    "queued": Scene(
        _states("And the mean" + ENTER + "Then the mode\x1b\r", "Then the mode"),
        answers=SLOW,
        pause=0.5,
    ),
    "retrying": Scene(_retrying, answers=()),
    "compacting": Scene(
        _compacting,
        answers=SLOW,
        pause=0.2,
        settings={"compaction": {"keepRecentTokens": 1}},
    ),
    "waiting-for-login": Scene(_waiting_for_login),
    "context": Scene(_after_prompt("/context", "Context")),
}  # fmt: skip


@contextmanager
def opened(scene: Scene, home: Path, *, columns: int, theme: str) -> Iterator[Seen]:
    """The program with the files, the model and the theme of a scene."""
    project, agent = home / "project", home / ".pi" / "agent"
    agent.mkdir(parents=True)
    for name, text in scene.files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for name, text in scene.home_files.items():
        (home / name).write_text(text)
    with serving(scene.answers, pause=scene.pause) as address:
        if not scene.is_new_user:
            _configure(agent, address, {"theme": theme, **scene.settings})
        program = str(Path(sys.executable).with_name("pi"))
        env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PI_OFFLINE": "1",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # another version, for before and after
            "COLORFGBG": "0;15" if "light" in theme else "15;0",
            **scene.env,
        }
        command = [program, *scene.arguments]
        with running(command, cwd=project, env=env, columns=columns, rows=scene.rows) as seen:
            yield seen


def _configure(agent: Path, address: str, settings: Mapping[str, object]) -> None:
    model = {
        "id": "scripted-large",
        "name": "Scripted Large",
        "contextWindow": 200_000,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
    }
    provider = {
        "baseUrl": address,
        "api": "openai-completions",
        "apiKey": "none",
        "models": [model],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"loopback": provider}}))
    stored = {"lastChangelogVersion": __version__, **settings}
    (agent / "settings.json").write_text(json.dumps(stored))


def review(
    folder: Path, scenes: Mapping[str, Scene], widths: Sequence[int], themes: Sequence[str]
) -> None:
    """Draw the scenes as ``SCENE-THEME-WIDTH.png``; a scene that fails is reported at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, scene in scenes.items():
        for theme in themes:
            for columns in widths:
                home = Path(tempfile.mkdtemp(prefix="ada"))
                target = folder / f"{name}-{theme}-{columns}.png"
                try:
                    with opened(scene, home, columns=columns, theme=theme) as seen:
                        try:
                            scene.act(seen)
                        except TimeoutError as error:
                            print(f"{target.name}: {str(error).splitlines()[0]}", file=sys.stderr)
                        save_png(seen.cells(), target, LIGHT if "light" in theme else DARK)
                finally:
                    shutil.rmtree(home)


FONTS = Path("/usr/share/fonts/truetype/dejavu")
_CELL = (9, 19)


def save_png(rows: Sequence[Sequence[Cell]], path: Path, paper: Paper) -> None:
    """Draw a screen with Pillow, which is quicker than a browser and needs no display."""
    from PIL import Image, ImageDraw, ImageFont

    wide, high = _CELL
    columns = max((len(row) for row in rows), default=1)
    image = Image.new("RGB", (columns * wide + 16, len(rows) * high + 16), paper.background)
    draw = ImageDraw.Draw(image)
    plain, bold = (
        ImageFont.truetype(str(FONTS / f"DejaVuSansMono{suffix}.ttf"), 15)
        for suffix in ("", "-Bold")
    )
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            style, left, top = look(cell, paper), 8 + x * wide, 8 + y * high
            if style.paper != paper.background:
                width = wide * (2 if row[x + 1 : x + 2] and not row[x + 1].text else 1)
                draw.rectangle((left, top, left + width - 1, top + high - 1), fill=style.paper)
            if cell.text.strip():
                font = bold if style.bold else plain
                draw.text((left, top + 1), cell.text, fill=style.ink, font=font)
            if style.underline:
                draw.line((left, top + high - 2, left + wide, top + high - 2), fill=style.ink)
    image.save(path)
