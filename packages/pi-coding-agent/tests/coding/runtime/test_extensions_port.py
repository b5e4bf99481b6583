from __future__ import annotations

from pathlib import Path

from pi.coding.port.extensions import ExtensionsPort
from tests.coding.runtime.session_fixture import SessionFixture


async def test_the_extensions_port_works_in_a_session_without_extensions(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    port: ExtensionsPort = session.extensions

    assert (*port.infos(), *port.foreign) == ()
    assert not await port.handle_input("$ ls")
    assert list(await port.references("rule://")) == []
    await session.close()
