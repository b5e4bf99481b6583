"""Theme files of a session: those in its folders, and those that options name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pi.base.files import expand_home
from pi.cli.arguments import Arguments
from pi.coding.resources.discovery import Selection
from pi.coding.resources.tolerant_files import is_file, is_folder, theme_files
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.workspace import Workspace
from pi.coding.settings.settings import Settings

_FOLDER = "themes"


def session_themes(
    arguments: Arguments,
    workspace: Workspace,
    host: Machine,
    *,
    cwd: Path,
    of_extensions: Iterable[Path] = (),
) -> list[Path]:
    """Return the theme files in order of precedence. They are searched each time and not read.

    ``cwd`` is the folder of the command line, ``of_extensions`` are files and folders of
    extensions.
    """
    paths = [cwd / expand_home(path) for path in arguments.texts("theme") or ()]
    named = list(_theme_files_in(paths))
    if "no_themes" in arguments.options:
        return named
    of_packages = [
        location.path for package in workspace.packages for location in package.places("themes")
    ]
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
    """Return the theme files of the settings, of both theme folders and of ``others``."""
    lists = (_selection(settings, "project", project), _selection(settings, "user", agent_dir))
    paths = [project / _FOLDER] if trusted else []
    paths.append(agent_dir / _FOLDER)
    paths += [path for selection in lists for path in (*selection.paths, *selection.forced)]
    files = _theme_files_in((*paths, *others))
    return [
        path for path in files if all(selection.admits(path, path.parent) for selection in lists)
    ]


def _selection(settings: Settings, scope: str, base: Path) -> Selection:
    """Return the ``themes`` of a settings file; a project's file only if it is trusted."""
    listed = settings.layer(scope, (_FOLDER,))
    entries = listed if isinstance(listed, list) else []
    return Selection.of([entry for entry in entries if isinstance(entry, str)], base)


def _theme_files_in(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if is_folder(path):
            yield from theme_files(path)
        elif is_file(path):
            yield path
