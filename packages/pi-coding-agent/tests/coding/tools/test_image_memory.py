"""Memory of pictures that are prepared for a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image as Pillow

from scripts.workspace import import_path

BOUNDED = """
import sys
from tests.bounded import limit_memory, peak_memory
limit_memory(300)
import threading
from pi.coding.tools.images import PNG
from pi.coding.tools.images import ImageLimits, prepare_image

data = open(sys.argv[1], "rb").read()
found = []
threads = [
    threading.Thread(target=lambda: found.append(prepare_image(data, PNG, ImageLimits())))
    for _ in range(2)
]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert all(prepared.image for prepared in found), found
print(peak_memory())
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_two_pictures_at_once_stay_below_the_memory_limit(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    Pillow.new("RGB", (7200, 6900)).save(file, compress_level=1)

    ended = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(file)],
        cwd=root,
        env={"MALLOC_ARENA_MAX": "1", "PYTHONPATH": import_path(root)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    assert float(ended.stdout) < 300


IN_TURN = """
import sys, threading
from tests.bounded import peak_memory
from pi.coding.tools.images import PNG, ImageLimits, prepare_image

bytearray(30_000_000)  # freed at once: glibc now keeps pieces of this size
data = open(sys.argv[1], "rb").read()
together = threading.Barrier(5)

def prepare():
    together.wait()  # five threads, as the event loop has them
    assert prepare_image(data, PNG, ImageLimits()).image

threads = [threading.Thread(target=prepare) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(peak_memory())
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is returned by glibc only")
def test_threads_that_have_read_pictures_do_not_retain_memory(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    Pillow.new("RGB", (4200, 4200)).save(file, compress_level=1)

    ended = subprocess.run(
        [sys.executable, "-c", IN_TURN, str(file)],
        cwd=root,
        env={"PYTHONPATH": import_path(root)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    assert float(ended.stdout) < 180
