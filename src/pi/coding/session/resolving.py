"""Which session is meant: by path, by id, by the beginning of an id, or simply the last one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.base.files import expand_home
from pi.base.records import Record
from pi.coding.session.breadcrumbs import Breadcrumb
from pi.coding.session.catalog import ListedSession, SessionCatalog, is_same_directory
from pi.coding.session.errors import DirectoryGone, NoMatchingSession, SessionProblem
from pi.coding.session.facts import SessionFacts, read_header
from pi.coding.session.naming import SUFFIX


class Here(Record):
    """The session to open. By a path that was given, it need not exist."""

    path: Path


class Elsewhere(Record):
    """A session of another working directory: it can be forked into this one."""

    session: ListedSession


Resolved: TypeAlias = Here | Elsewhere


def resolve_session(
    text: str, catalog: SessionCatalog, cwd: str, *, must_exist: bool = False
) -> Resolved:
    """The session that ``--session`` or ``--fork`` names; ``NoMatchingSession`` if there is none.

    With ``must_exist``, as ``--resume`` wants it, a path has to be that of a file.

    A whole id is preferred to the beginning of one, this working directory to others, and of
    several sessions the one that was used last.
    """
    if "/" in text or "\\" in text or text.endswith(SUFFIX):
        path = Path(cwd, expand_home(text, strict=False))
        if must_exist and not os.path.isfile(path):  # noqa: PTH113 - a prompt may be no valid path
            raise NoMatchingSession(text)
        return Here(path=path)
    if found := _matching(text, catalog.of_project(cwd)):
        return Here(path=found.path)
    if found := _matching(text, catalog.everywhere()):
        return Elsewhere(session=found)
    raise NoMatchingSession(text)


def find_by_id(id: str, catalog: SessionCatalog, cwd: str) -> Path | None:
    """The session of this working directory with exactly this id, as ``--session-id`` wants it."""
    found = _first(catalog.of_project(cwd), lambda facts: facts.id == id)
    return found.path if found else None


def new_id_warning(id: str) -> str:
    """What to tell when ``--session-id`` names a session that does not exist yet."""
    return f"No project session found with id '{id}'; creating a new session with that id."


def session_to_continue(
    catalog: SessionCatalog, cwd: str, crumb: Breadcrumb | None = None
) -> Path | None:
    """The session that ``--continue`` goes on with; ``None`` if there is none yet.

    That is what this terminal used last in this working directory, else what anybody did.
    """
    if crumb is not None and is_same_directory(crumb.cwd, cwd):
        path = Path(crumb.session)
        in_place = catalog.custom is None or is_same_directory(
            str(path.parent), str(catalog.custom)
        )
        if in_place and _belongs_to(path, cwd):
            return path
    listed = catalog.of_project(cwd)
    return listed[0].path if listed else None


def check_directory(stored: str, session: Path | None, current: str) -> None:
    """Raise ``DirectoryGone`` if a session cannot go on where it was."""
    if stored and not Path(stored).is_dir():
        raise DirectoryGone(stored, session, current)


def check_persistent(directory: Path | None, flag: str) -> None:
    """Raise if ``flag`` asks for a session that exists although none are kept."""
    if directory is None:
        raise SessionProblem(
            f"{flag} needs sessions that are saved, and this run saves none.",
            hint="Leave out --no-session.",
        )


def _matching(text: str, sessions: Sequence[ListedSession]) -> ListedSession | None:
    """The session of this id, else the one of those that begin so which was used last."""
    return _first(sessions, lambda facts: facts.id == text) or _first(
        sessions, lambda facts: text != "" and facts.id.startswith(text)
    )


def _first(
    sessions: Sequence[ListedSession], fits: Callable[[SessionFacts], bool]
) -> ListedSession | None:
    return next((session for session in sessions if fits(session.facts)), None)


def _belongs_to(path: Path, cwd: str) -> bool:
    try:
        header = read_header(path)
    except OSError:
        return False
    return header is not None and is_same_directory(str(header.get("cwd", cwd)), cwd)
