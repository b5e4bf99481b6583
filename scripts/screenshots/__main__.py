"""Takes the pictures of the documentation: ``.venv/bin/python -m scripts.screenshots``."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.screenshots.program import Seen, running
from scripts.screenshots.svg import picture

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
    """One picture: what it shows, and what a person does for it."""

    title: str
    act: Callable[[Seen], None]
    rows: int = 36
    env: Mapping[str, str] = {}


SHOTS = {
    "transcript": Shot("pi writes, changes and runs a file", _tour, rows=40),
    "tree": Shot("The tree of a session", _tree),
    "models": Shot("Choosing a model", _models, rows=24, env={"ANTHROPIC_API_KEY": "none"}),
}


def take(shot: Shot, folder: Path) -> str:
    """The picture, from a run whose home is in ``folder``."""
    project = folder / "project"
    project.mkdir(parents=True)
    env = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PI_OFFLINE": "1",
        **shot.env,
    }
    program = str(Path(sys.executable).with_name("pi"))
    with running([program, "--model", "demo/tour"], cwd=project, env=env, rows=shot.rows) as seen:
        seen.wait_for("(demo) tour")
        shot.act(seen)
        return picture(seen.cells(), title=shot.title)


def main() -> None:
    """Take all pictures; their paths are the same in every run."""
    IMAGES.mkdir(exist_ok=True)
    home = Path(tempfile.gettempdir()) / "ada"
    for name, shot in SHOTS.items():
        home.mkdir()  # the user's own is not touched
        try:
            (IMAGES / f"{name}.svg").write_text(take(shot, home), encoding="utf-8")
        finally:
            shutil.rmtree(home)


if __name__ == "__main__":
    main()
