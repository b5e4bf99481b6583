"""Which theme files a session may use: named, or of the project, the person, packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pi.cli.arguments import Arguments
from pi.coding.resources.folders import theme_files
from pi.coding.resources.selection import Selection
from pi.coding.runtime.host import Host
from pi.coding.runtime.workspace import Workspace

_FOLDER = "themes"


def session_themes(
    arguments: Arguments, workspace: Workspace, host: Host, of_extensions: Iterable[Path] = ()
) -> list[Path]:
    """The files, what wins first. They are looked for anew each time; none is read.

    ``of_extensions`` are files and folders that extensions know of.
    """
    given = [workspace.cwd / Path(path).expanduser() for path in arguments.texts("theme") or ()]
    named = list(_files(given))
    if arguments.switch("no_themes"):
        return named
    project = workspace.cwd / ".pi"
    lists = (
        _selection(workspace, "project", project),
        _selection(workspace, "user", host.agent_dir),
    )
    places = [project / _FOLDER] if workspace.trust.trusted else []
    places.append(host.agent_dir / _FOLDER)
    places += [path for each in lists for path in (*each.paths, *each.forced)]
    found = _files((*places, *_of_packages(workspace, host), *of_extensions))
    return named + [path for path in found if all(each.admits(path, path.parent) for each in lists)]


def _selection(workspace: Workspace, scope: str, base: Path) -> Selection:
    """What a settings file says of themes; a project's says nothing before it is trusted."""
    listed = workspace.settings.layer(scope, (_FOLDER,))
    entries = listed if isinstance(listed, list) else []
    return Selection.of([entry for entry in entries if isinstance(entry, str)], base)


def _of_packages(workspace: Workspace, host: Host) -> list[Path]:
    if not workspace.packages:
        return []
    from pi.coding.packages.discovery import find_packages, layers_of  # few have packages

    packages = find_packages(layers_of(workspace.settings, host.agent_dir, workspace.cwd))
    return [place.path for place in packages.places("themes")]


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from theme_files(place)
        elif place.is_file():
            yield place
