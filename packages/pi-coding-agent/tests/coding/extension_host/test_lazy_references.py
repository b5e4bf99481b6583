"""References that load a deferred extension."""

from __future__ import annotations

import sys
from pathlib import Path

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.loading.modules import module_name
from pi.coding.runtime.options import ToolFilter
from tests.coding.extension_host.deferred import kit, sent_texts
from tests.coding.runtime.session_fixture import SessionFixture

SCHEME = """\
from pi.extension import Resource
class Notes:
    async def read(self, ref, window):
        return Resource(text=f"the note {ref.rest}")
pi.add_scheme("note", Notes())
"""


async def test_reading_a_reference_loads_the_extension_of_its_scheme(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path,
        calls("read", path="note://one"),
        calls("write", path="note://one", content="x"),
        says("done"),
    )
    path = kit(fixture, 'activate = ["scheme:note"]', SCHEME)
    session = await fixture.open()
    assert module_name(path) not in sys.modules

    await session.prompt("read it")

    assert sent_texts(session) == ["the note one", "note://one can only be read."]
    await session.close()


LISTED = """\
from pi.extension import Resource

class Notes:
    async def read(self, ref, window):
        return Resource(text="x")

    def list(self, ref):
        return ["one", "two"]

    def complete(self, prefix):
        return [f"{prefix}ne"]

pi.add_scheme("note", Notes())
"""


async def test_listing_references_loads_the_extension_of_their_scheme(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("ls", path="note://"), says("done"))
    path = kit(fixture, 'activate = ["scheme:note"]', LISTED)
    session = await fixture.open(tools=ToolFilter(only=("ls",)))
    assert module_name(path) not in sys.modules

    await session.prompt("list them")

    assert sent_texts(session) == ["one\ntwo"]
    await session.close()


async def test_completing_a_reference_loads_the_extension_of_its_scheme(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = kit(fixture, 'activate = ["scheme:note"]', LISTED)
    session = await fixture.open()

    assert module_name(path) not in sys.modules
    assert await session.extensions.references("note://o") == ["note://one"]
    assert module_name(path) in sys.modules
    assert await session.extensions.references("note://t") == ["note://tne"]
    await session.close()
