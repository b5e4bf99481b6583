from __future__ import annotations

import io
import struct
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest
from PIL import Image as Pillow
from PIL import ImageChops

from pi.base import pictures
from pi.base.pictures import MAX_PIXELS, UNREADABLE, TooManyPixels, open_picture, shrunk
from scripts.workspace import import_path


def png_head(width: int, height: int) -> bytes:
    """A PNG that claims a size and has no pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


def encoded(picture: Pillow.Image, form: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()


def test_fifty_megapixels_are_opened_and_more_than_the_limit_are_not() -> None:
    assert open_picture(png_head(8192, 6144)).size == (8192, 6144)

    with pytest.raises(TooManyPixels, match="50000x50000 pixels exceed the limit of 52,000,000"):
        open_picture(png_head(50_000, 50_000))
    assert MAX_PIXELS >= 50_000_000


def test_data_that_is_not_a_picture_is_unreadable() -> None:
    with pytest.raises(UNREADABLE):
        open_picture(b"no picture")


def test_a_picture_that_is_not_large_is_returned_as_it_is() -> None:
    picture = open_picture(encoded(Pillow.new("RGB", (100, 50)), "PNG"))

    assert shrunk(picture, (10, 5)) is picture


@pytest.mark.parametrize(
    ("mode", "form"),
    [("L", "PNG"), ("RGB", "PNG"), ("RGBA", "PNG"), ("P", "GIF"), ("LA", "PNG"), ("RGB", "BMP")],
)
def test_a_large_picture_is_reduced_tile_by_tile(
    monkeypatch: pytest.MonkeyPatch, mode: str, form: str
) -> None:
    monkeypatch.setattr(pictures, "LARGE", 1000)
    monkeypatch.setattr(pictures, "_TILE", 7)
    gradient = Pillow.linear_gradient("L").resize((203, 101)).convert(mode)
    data = encoded(gradient, form)

    small = shrunk(open_picture(data), (100, 25))

    plain = open_picture(data).convert(small.mode).reduce((2, 4))
    assert small.size == plain.size == (102, 26)
    assert ImageChops.difference(small.convert("RGB"), plain.convert("RGB")).getbbox() is None


def test_a_large_photo_is_decoded_at_a_smaller_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "LARGE", 1000)
    data = encoded(Pillow.new("RGB", (800, 400), "red"), "JPEG")

    assert shrunk(open_picture(data), (100, 50)).size == (100, 50)
    assert shrunk(open_picture(data), (90, 45)).size == (100, 50)
    assert shrunk(open_picture(data), (800, 400)).size == (800, 400)


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
