from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.composer.dropped_files import dropped_images, read_pictures
from tests.modes.interactive.composer.test_clipboard_reading import picture

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("pasted", "paths"),
    [
        ("/tmp/a.png", ["/tmp/a.png"]),
        ("/tmp/a.png ", ["/tmp/a.png"]),
        ("'/tmp/my picture.PNG'", ["/tmp/my picture.PNG"]),
        ('"/tmp/my picture.jpg" ', ["/tmp/my picture.jpg"]),
        (r"/tmp/my\ picture.webp", ["/tmp/my picture.webp"]),
        ("/tmp/my picture.gif", ["/tmp/my picture.gif"]),
        ("~/a.png", ["/home/ada/a.png"]),
        ("file:///tmp/my%20picture.png", ["/tmp/my picture.png"]),
        ("/tmp/a.png /tmp/b.png", ["/tmp/a.png", "/tmp/b.png"]),
        ("file:///tmp/a.png\nfile:///tmp/b.png", ["/tmp/a.png", "/tmp/b.png"]),
    ],
)
def test_dropped_picture_paths_are_recognised_in_every_notation(
    pasted: str, paths: list[str]
) -> None:
    assert tuple(map(Path, paths)) in dropped_images(pasted, HOME)


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "a.png",
        "see /tmp/a.png",
        "/tmp/a.txt",
        "it's /tmp/a.png",
        "/tmp/a.png and more",
        "file://[a.png",
        "\0",
    ],
)
def test_other_texts_name_no_pictures(pasted: str) -> None:
    assert dropped_images(pasted, HOME) == []


def test_files_that_are_not_pictures_are_not_read(tmp_path: Path) -> None:
    real, fake = tmp_path / "real.png", tmp_path / "fake.png"
    real.write_bytes(picture("PNG"))
    fake.write_text("not a picture")
    missing = tmp_path / "missing.png"

    limits = ImageLimits()
    assert read_pictures([(real, fake)], limits) == []
    assert read_pictures([(missing,), (tmp_path,)], limits) == []
    [image] = read_pictures([(missing,), (real,)], limits)
    assert image.mime_type == "image/png"
