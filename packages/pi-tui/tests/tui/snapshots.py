"""The appearance of the gallery, kept as text beside this module.

``python -m tests.tui.snapshots`` rewrites the files. Review the difference like code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from examples.gallery import Gallery, frame

FOLDER = Path(__file__).with_name("snapshots")


def _styled(gallery: Gallery) -> list[str]:
    """Returns rows with readable sequences: ``␛`` is the escape character."""
    return [row.replace("\x1b", "␛").replace("\x07", "␇") for row in gallery.render(60)]


FRAMES: dict[str, Callable[[], list[str]]] = {
    "gallery-100.txt": lambda: frame(100),
    "gallery-60.txt": lambda: frame(60),
    "gallery-24.txt": lambda: frame(24),
    "gallery-dark-styles.txt": lambda: _styled(Gallery("dark")),
    "gallery-light-styles.txt": lambda: _styled(Gallery("light", has_hyperlinks=True)),
}


def actual(name: str) -> str:
    """Returns the current appearance."""
    return "".join(f"{row}\n" for row in FRAMES[name]())


def expected(name: str) -> str:
    """Returns the approved appearance."""
    return (FOLDER / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in FRAMES:
        (FOLDER / name).write_text(actual(name), encoding="utf-8")
