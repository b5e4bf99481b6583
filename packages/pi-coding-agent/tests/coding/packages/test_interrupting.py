"""Ending the program during an installation leaves the previous state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pi.base.records import replace
from pi.coding.packages.programs import Programs
from pi.coding.packages.store import PackageStore
from tests.coding.packages.conftest import MakeStore
from tests.coding.packages.making import FakeNpm, interrupted, make_wheel, snapshot
from tests.sampling import sampled


@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize("step", ["view", "install"])
@pytest.mark.parametrize("there", sampled(["nothing", "an older version"], keep=1))
async def test_npm_can_be_interrupted_at_every_step(
    store: PackageStore, npm: FakeNpm, tmp_path: Path, step: str, there: str
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    if there != "nothing":
        await store.install("npm:tips", tmp_path)
    before = snapshot(tmp_path / "agent")
    npm.publish("tips", "1.1.0", "skills/b/SKILL.md")
    signal = npm.hang(step)

    await interrupted(store, "npm:tips", tmp_path, signal.read_text)

    assert snapshot(tmp_path / "agent") == (before or {".packages.lock": ""})
    signal.unlink()
    assert (await store.install("npm:tips", tmp_path)).change == "fetched"


class Holding(SimpleHTTPRequestHandler):
    """A simple index that holds one of the requests for a wheel."""

    def __init__(self, *args: Any, hold: int, state: dict[str, Any], **options: Any) -> None:
        self._hold = hold
        self._state = state
        super().__init__(*args, **options)

    def do_GET(self) -> None:
        if self.path.endswith(".whl"):
            self._state["wheels"] += 1
            if self._state["wheels"] == self._hold:
                self._state["hangs"].set()
                self._state["over"].wait(60)
                return
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def index(folder: Path, hold: int) -> Iterator[tuple[str, threading.Event]]:
    """Yield the URL of the index, and an event that is set once it hangs."""
    state: dict[str, Any] = {
        "wheels": 0,
        "hangs": threading.Event(),
        "over": threading.Event(),
    }
    handler = partial(Holding, directory=str(folder), hold=hold, state=state)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/", state["hangs"]
    finally:
        state["over"].set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize("wheel", sampled([1, 2], keep=1))
@pytest.mark.parametrize("there", sampled(["nothing", "an older version"], keep=1))
async def test_pip_can_be_interrupted_at_every_step(
    make_store: MakeStore,
    programs: Programs,
    wheelhouse: Path,
    tmp_path: Path,
    wheel: int,
    there: str,
) -> None:
    if there != "nothing":
        make_wheel(wheelhouse, "pi-tips", "1.0", "pi_tips/skills/x/SKILL.md")
        await make_store().install("pypi:pi-tips", tmp_path)
    before = snapshot(tmp_path / "agent")
    make_wheel(tmp_path / "index" / "simple" / "pi-tips", "pi-tips", "1.1")

    with index(tmp_path / "index", hold=wheel) as (url, hangs):
        more = {"PIP_INDEX_URL": url, "PIP_NO_INDEX": "0", "PIP_NO_CACHE_DIR": "1"}
        online = replace(programs, environ={**programs.environ, **more})
        await interrupted(
            make_store(programs=online), "pypi:pi-tips", tmp_path, partial(hangs.wait, 60)
        )

    assert snapshot(tmp_path / "agent") == (before or {".packages.lock": ""})
