from __future__ import annotations

from pathlib import Path

from pi.cli.arguments import parse_arguments
from pi.cli.theme_files import session_themes
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.host import Host
from pi.coding.runtime.options import SessionOptions

FILES = (
    "work/.pi/themes/ours.json",
    "home/.pi/agent/themes/mine.json",
    "home/.pi/agent/themes/drafts.json",
    "home/more/listed.json",
    "package/themes/packed.json",
    "work/given.json",
    "known/told.json",
)


async def themes(folder: Path, *words: str, approve: bool = True) -> list[str]:
    """The names of the themes that a session may use, in their order."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    lists = (
        f'{{"themes": ["{folder}/home/more", "!themes/dra*"], "packages": ["{folder}/package"]}}'
    )
    (folder / "home/.pi/agent/settings.json").write_text(lists)
    host = Host.of({"HOME": str(folder / "home")})
    options = SessionOptions(model="demo/tour", approve=approve)
    built = await assemble(folder / "work", host, options)
    await built.session.close()
    known = [folder / "known"]
    found = session_themes(parse_arguments(words), built.workspace, host, known)
    return [path.stem for path in found]


async def test_themes_come_from_everywhere_and_what_is_nearest_wins(tmp_path: Path) -> None:
    found = await themes(tmp_path, "--theme", "given.json")
    assert found == ["given", "ours", "mine", "listed", "packed", "told"]


async def test_a_project_that_is_not_trusted_brings_no_themes(tmp_path: Path) -> None:
    assert await themes(tmp_path, approve=False) == ["mine", "listed", "packed", "told"]


async def test_only_what_is_named_is_there_if_nothing_else_is_wanted(tmp_path: Path) -> None:
    assert await themes(tmp_path, "--no-themes", "--theme", "given.json") == ["given"]
