from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.runtime.stage import Stage

CODE = "def extension(pi): ...\n"


async def names(stage: Stage, **options: object) -> list[tuple[str, str]]:
    session = await stage.open(**options)  # type: ignore[arg-type]
    infos = [(info.rank, info.name) for info in session.extensions.infos()]
    await session.close()
    return infos


async def test_extensions_are_found_where_they_belong(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/extensions/own.py", CODE)
    stage.write("project/.pi/extensions/theirs.py", CODE)
    stage.write("more/listed.py", CODE)
    stage.write("named.py", CODE)
    stage.write(".pi/agent/settings.json", '{"extensions": ["../../more", "!own*"]}')
    explicit = ExtensionOptions(paths=("../named.py",))

    assert await names(stage, approve=True, extensions=explicit) == [
        ("user", "listed"),
        ("explicit", "named"),
        ("project", "theirs"),
    ]
    assert await names(stage, approve=False) == [("user", "listed")]
    only = ExtensionOptions(discover=False, paths=("../named.py",))
    assert await names(stage, approve=True, extensions=only) == [("explicit", "named")]


async def test_extensions_of_the_original_are_listed_and_no_error(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    path = stage.write(".pi/agent/extensions/old.ts", "export default () => {}")
    stage.write(".pi/agent/settings.json", "{")
    session = await stage.open()

    assert list(session.extensions.foreign) == [str(path)]
    assert list(session.extensions.infos()) == []
    assert [text for text in stage.reports if "original" in text] == [
        "1 of the extensions here is written for the original pi and stays unused;"
        " /extensions lists them."
    ]
    await session.close()


async def test_one_that_was_named_and_is_missing_is_warned_of(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open(extensions=ExtensionOptions(paths=("nope.py",)))

    assert stage.reports == [f"Warning: Extension {stage.cwd / 'nope.py'} does not exist."]
    await session.close()
