from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.runtime.session_fixture import SessionFixture

CODE = "def extension(pi): ...\n"


async def names(fixture: SessionFixture, **options: object) -> list[tuple[str, str]]:
    session = await fixture.open(**options)  # type: ignore[arg-type]
    infos = [(info.rank, info.name) for info in session.extensions.infos()]
    await session.close()
    return infos


async def test_extensions_are_found_in_user_project_settings_and_explicit_paths(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/own.py", CODE)
    fixture.write("project/.pi/extensions/theirs.py", CODE)
    fixture.write("more/listed.py", CODE)
    fixture.write("named.py", CODE)
    fixture.write(".pi/agent/settings.json", '{"extensions": ["../../more", "!own*"]}')
    explicit = ExtensionOptions(paths=("../named.py",))

    assert await names(fixture, approve=True, extensions=explicit) == [
        ("user", "listed"),
        ("explicit", "named"),
        ("project", "theirs"),
    ]
    assert await names(fixture, approve=False) == [("user", "listed")]
    only = ExtensionOptions(discover=False, paths=("../named.py",))
    assert await names(fixture, approve=True, extensions=only) == [("explicit", "named")]


async def test_extensions_for_the_original_pi_are_listed_and_not_loaded(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = fixture.write(".pi/agent/extensions/old.ts", "export default () => {}")
    session = await fixture.open()

    assert list(session.extensions.foreign) == [str(path)]
    assert list(session.extensions.infos()) == []
    assert [text for text in fixture.reports if "original" in text] == [
        "1 of the extensions here is written for the original pi and stays unused;"
        " /extensions lists them."
    ]
    await session.close()


async def test_a_missing_explicit_extension_causes_a_warning(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(extensions=ExtensionOptions(paths=("nope.py",)))

    assert fixture.reports == [f"Warning: Extension {fixture.cwd / 'nope.py'} does not exist."]
    await session.close()
