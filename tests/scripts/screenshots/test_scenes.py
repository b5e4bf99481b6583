from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from scripts.screenshots.scenes import SCENES, opened, save_png
from scripts.screenshots.svg import LIGHT
from tests.sampling import sampled


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["start", "usage"], keep=1))
def test_a_scene_of_a_real_run_is_saved_as_a_picture(name: str, tmp_path: Path) -> None:
    with opened(SCENES[name], tmp_path / "home", columns=60, theme="light") as seen:
        SCENES[name].act(seen)
        save_png(seen.cells(), tmp_path / "picture.png", LIGHT)

    with Image.open(tmp_path / "picture.png") as picture:
        assert picture.width > 60 * 8
        assert picture.getpixel((0, 0)) == (0xFB, 0xFB, 0xFD)
