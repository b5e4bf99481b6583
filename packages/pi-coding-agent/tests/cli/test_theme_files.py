from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pi.cli.arguments import parse_arguments
from pi.cli.theme_files import session_themes
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.assemble import AssembledSession, assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from tests.coding.files.unprivileged import locked_folder

FILES = (
    "work/.pi/themes/ours.json",
    "home/.pi/agent/themes/mine.json",
    "home/.pi/agent/themes/drafts.json",
    "home/more/listed.json",
    "package/themes/packed.json",
    "work/given.json",
    "known/reported.json",
)


def write_everywhere(folder: Path) -> Machine:
    """The host of a user who has all these themes, and settings that name some of them."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    lists = {"themes": [f"{folder}/home/more", "!themes/dra*"], "packages": [f"{folder}/package"]}
    (folder / "home/.pi/agent/settings.json").write_text(json.dumps(lists))
    return Machine.from_environ({"HOME": str(folder / "home")})


async def themes(folder: Path, *arguments: str, approve: bool = True) -> list[str]:
    """The names of the themes that a session may use, in their order."""
    host = write_everywhere(folder)
    options = SessionOptions(model="demo/tour", approve=approve)
    built = await assemble(folder / "work", host, options)
    await built.session.close()
    return names(built, host, arguments, of_extensions=[folder / "known"])


def names(
    built: AssembledSession,
    host: Machine,
    argv: Sequence[str] = (),
    of_extensions: Sequence[Path] = (),
) -> list[str]:
    arguments, cwd = parse_arguments(argv), host.home.parent / "work"
    paths = session_themes(
        arguments, built.session.workspace, host, cwd=cwd, of_extensions=of_extensions
    )
    return [path.stem for path in paths]


async def test_themes_of_all_sources_are_listed_in_the_order_of_precedence(tmp_path: Path) -> None:
    names = await themes(tmp_path, "--theme", "given.json")
    assert names == ["given", "ours", "mine", "listed", "packed", "reported"]


async def test_themes_of_an_untrusted_project_are_not_listed(tmp_path: Path) -> None:
    assert await themes(tmp_path, approve=False) == ["mine", "listed", "packed", "reported"]


async def test_no_themes_with_a_theme_file_lists_only_that_file(tmp_path: Path) -> None:
    assert await themes(tmp_path, "--no-themes", "--theme", "given.json") == ["given"]


async def test_themes_of_a_package_are_listed_after_a_reload(tmp_path: Path) -> None:
    host = write_everywhere(tmp_path)
    settings = host.agent_dir / "settings.json"
    settings.unlink()
    options = SessionOptions(model="demo/tour", approve=False)
    built = await assemble(tmp_path / "work", host, options)
    before = names(built, host)

    settings.write_text(json.dumps({"packages": [f"{tmp_path}/package"]}))
    await built.session.start()
    await built.session.sessions.reload()
    after = names(built, host)
    await built.session.close()

    assert (before, after) == (["drafts", "mine"], ["drafts", "mine", "packed"])


async def test_themes_of_a_package_for_one_run_are_listed(tmp_path: Path) -> None:
    host = write_everywhere(tmp_path)
    (host.agent_dir / "settings.json").unlink()
    extension_options = ExtensionOptions(paths=(f"{tmp_path}/package",))
    options = SessionOptions(model="demo/tour", approve=False, extensions=extension_options)
    built = await assemble(tmp_path / "work", host, options)
    await built.session.close()

    assert names(built, host) == ["drafts", "mine", "packed"]


async def test_a_theme_in_an_unreadable_folder_is_not_listed(tmp_path: Path) -> None:
    host = Machine.from_environ({"HOME": str(tmp_path)})
    built = await assemble(tmp_path, host, SessionOptions(model="demo/tour", approve=False))
    await built.session.close()

    with locked_folder() as locked:
        assert names(built, host, ("--theme", f"{locked}/file")) == []
