"""Which theme files a session may use: named, or of the project, the person, packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pi.base.files import expand_home
from pi.cli.arguments import Arguments
from pi.coding.resources.folders import is_file, is_folder, theme_files
from pi.coding.resources.selection import Selection
from pi.coding.runtime.host import Host
from pi.coding.runtime.workspace import Workspace
from pi.coding.settings.settings import Settings

_FOLDER = "themes"


def session_themes(
    arguments: Arguments,
    workspace: Workspace,
    host: Host,
    *,
    cwd: Path,
    of_extensions: Iterable[Path] = (),
) -> list[Path]:
    """The files, what wins first. They are looked for anew each time; none is read.

    ``cwd`` is where the command line was written, ``of_extensions`` are files and folders that
    extensions know of.
    """
    given = [cwd / expand_home(path) for path in arguments.texts("theme") or ()]
    named = list(_files(given))
    if arguments.switch("no_themes"):
        return named
    of_packages = [place.path for each in workspace.packages for place in each.places("themes")]
    return named + theme_paths(
        workspace.settings,
        host.agent_dir,
        workspace.cwd / ".pi",
        trusted=workspace.trust.trusted,
        others=(*of_packages, *of_extensions),
    )


def theme_paths(
    settings: Settings,
    agent_dir: Path,
    project: Path,
    *,
    trusted: bool,
    others: Iterable[Path] = (),
) -> list[Path]:
    """The theme files of the settings, of both folders of themes and of ``others``."""
    lists = (_selection(settings, "project", project), _selection(settings, "user", agent_dir))
    places = [project / _FOLDER] if trusted else []
    places.append(agent_dir / _FOLDER)
    places += [path for each in lists for path in (*each.paths, *each.forced)]
    found = _files((*places, *others))
    return [path for path in found if all(each.admits(path, path.parent) for each in lists)]


def _selection(settings: Settings, scope: str, base: Path) -> Selection:
    """What a settings file says of themes; a project's says nothing before it is trusted."""
    listed = settings.layer(scope, (_FOLDER,))
    entries = listed if isinstance(listed, list) else []
    return Selection.of([entry for entry in entries if isinstance(entry, str)], base)


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if is_folder(place):
            yield from theme_files(place)
        elif is_file(place):
            yield place
