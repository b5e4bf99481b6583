"""``pi sessions`` and ``--export``: lists, renames, moves, deletes and exports sessions."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pi.base.clock import IdFactory, iso_timestamp
from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments, UsageError
from pi.cli.command_context import session_dir_here
from pi.cli.standard_streams import print_error, print_json
from pi.cli.subcommands.session_export import write_export
from pi.coding.export.files import TRAJECTORY, default_name, is_trajectory
from pi.coding.runtime.machine import Machine
from pi.coding.session.catalog import ListedSession, SessionCatalog, is_same_directory
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.file_operations import import_session, move_session, rename_session
from pi.coding.session.lookup import search_sessions, search_texts
from pi.coding.session.opening import SessionLocation
from pi.coding.session.trash import Trash
from pi.coding.session.writing import clean_name, session_directory

# Subcommand ---------------------------------------------------------------------------------------

NEEDED = {"rename": "an id and a name", "move": "an id and a folder", "import": "a file"}
"""Arguments that actions need; the others need an id."""
SHOWN_ID = 13
"""Characters of an id that are shown: they contain the millisecond of its creation."""
SHOWN_TITLE = 60


class SessionJson(Record):
    """A session in the output of ``--json``."""

    id: str
    path: str
    cwd: str
    name: str | None
    first_message: str
    message_count: int
    created: str
    last_active: str
    excerpt: str | None = None
    """The passage that matches the search text."""


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run ``pi sessions`` and return the exit code."""
    host, cwd = Machine.from_environ(environ, report=print_error), Path.cwd()
    custom = session_dir_here(arguments, host, cwd)
    catalog = SessionCatalog(host.agent_dir, custom=custom)
    match arguments.messages:
        case ("rename", id, *title) if title:
            _rename(_find_only(id, catalog, cwd), " ".join(title), host)
        case ("move", id, folder):
            there = (cwd / expand_home(folder)).resolve()
            _move(_find_only(id, catalog, cwd), there, host, custom)
        case ("delete", id):
            session = _find_only(id, catalog, cwd)
            asyncio.run(Trash(host.agent_dir, host.environ, host.clock).delete(session.path))
            sys.stdout.write(f"Moved to the trash: {_title(session)}\n")
        case ("export", id, *rest) if len(rest) <= 1:
            session = _find_only(id, catalog, cwd)
            write_export(session.path, _export_target(rest, arguments, session), host)
        case ("import", path):
            _import(expand_home(path), arguments, host, custom)
        case ("rename" | "move" | "delete" | "export" | "import" as action, *_):
            raise UsageError(
                f"`pi sessions {action}` needs {NEEDED.get(action, 'an id')}",
                hint="See `pi sessions -h`.",
            )
        case search_words:
            _list(" ".join(search_words), arguments, catalog, cwd)
    return 0


def _export_target(
    rest: Sequence[str], arguments: Arguments, session: ListedSession
) -> Path | None:
    """Return the file to write; ``None`` for a page in this folder."""
    name = rest[0] if rest else arguments.text("out")
    form = arguments.text("format")
    if form is None:
        return expand_home(name) if name else None
    suffix = TRAJECTORY if form == "atif" else f".{form}"
    if name is None:
        return Path(default_name(session.path).removesuffix(".html") + suffix)
    path = expand_home(name)
    if path.is_dir():
        return path / f"{session.summary.id}{suffix}"
    # The suffix decides the format of an export.
    return path if path.name.endswith(suffix) else path.with_name(f"{path.name}{suffix}")


def _import(path: Path, arguments: Arguments, host: Machine, custom: Path | None) -> None:
    """Import a session file or a trajectory into this folder and print the new file."""
    cwd = Path.cwd()
    stamps = IdFactory(host.clock, host.random_bytes)
    location = SessionLocation(
        session_directory(host.agent_dir, str(cwd), custom=custom), str(cwd), print_error, stamps
    )
    if arguments.text("format") == "atif" or is_trajectory(path):
        # Deferred: few imports are trajectories.
        from pi.coding.export.atif.restoring import read_trajectory, restore_files

        document = read_trajectory(path)
        with tempfile.TemporaryDirectory(prefix="pi-import-") as folder:
            restored = restore_files(document, path, stamps, Path(folder))
            imported = import_session(restored, location)
    else:
        imported = import_session(path, location)
    sys.stdout.write(f"Imported to: {imported}\n")


def _list(search: str, arguments: Arguments, catalog: SessionCatalog, cwd: Path) -> None:
    everywhere = "all" in arguments.options
    sessions = catalog.in_all_directories() if everywhere else catalog.in_directory(str(cwd))
    excerpts: dict[Path, str] = {}
    if search and "texts" in arguments.options:
        passages = search_texts(search, sessions)
        sessions = [passage.session for passage in passages]
        excerpts = {passage.session.path: passage.excerpt for passage in passages}
    elif search:
        sessions = search_sessions(search, sessions)
    if "json" in arguments.options:
        for session in sessions:
            print_json(_session_json(session, excerpts.get(session.path)))
    elif sessions:
        sys.stdout.writelines(_format_rows(sessions, excerpts, everywhere=everywhere))
    else:
        scope = "anywhere" if everywhere else f"in {cwd}; --all searches all folders"
        matching = f' matching "{one_line(search)}"' if search else ""
        sys.stdout.write(f"No sessions{matching} {scope}\n")


def _find_only(query: str, catalog: SessionCatalog, cwd: Path) -> ListedSession:
    """Return the one session that an id, its prefix, or a path matches.

    An ambiguous id is an error, because changing the wrong session would be worse. Of sessions with
    the same id in several projects, the one of this folder is used.
    """
    everywhere = catalog.in_all_directories()
    path = cwd / expand_home(query)
    exact = [
        session for session in everywhere if session.summary.id == query or session.path == path
    ]
    in_this_folder = [
        session for session in exact if is_same_directory(session.summary.cwd, str(cwd))
    ]
    matches = (
        in_this_folder
        or exact
        or [session for session in everywhere if session.summary.id.startswith(query)]
    )
    if not matches:
        raise NoMatchingSession(query)
    if len(matches) > 1:
        names = [str(session.path) if exact else session.summary.id for session in matches[:5]]
        raise PiError(
            f"{len(matches)} sessions begin with '{query}'.",
            hint=f"Use a longer prefix: {', '.join(names)}",
        )
    return matches[0]


def _rename(session: ListedSession, name: str, host: Machine) -> None:
    if not clean_name(name):
        raise UsageError("The name must not be blank.")
    rename_session(session.path, name, IdFactory(host.clock, host.random_bytes))
    sys.stdout.write(f"Renamed {session.summary.id} to {clean_name(name)}\n")


def _move(session: ListedSession, folder: Path, host: Machine, custom: Path | None) -> None:
    if not folder.is_dir():
        raise PiError(
            f"{folder} is not a folder.", hint="Give the working directory of the session."
        )
    directory = session_directory(host.agent_dir, str(folder), custom=custom)
    move_session(session.path, cwd=str(folder), directory=directory)
    sys.stdout.write(f"Moved {session.summary.id} to {folder}\n")


def _format_rows(
    sessions: Sequence[ListedSession], excerpts: Mapping[Path, str], *, everywhere: bool
) -> Iterator[str]:
    for session in sessions:
        facts = session.summary
        when = datetime.fromtimestamp(facts.active_ms / 1000, UTC).astimezone()
        folder = f"  {one_line(facts.cwd)}" if everywhere else ""
        text = excerpts.get(session.path) or _title(session)
        yield (
            f"{facts.id[:SHOWN_ID]:{SHOWN_ID}}  {when:%Y-%m-%d %H:%M}  "
            f"{facts.message_count:5}{folder}  {text}\n"
        )


def _title(session: ListedSession) -> str:
    text = session.summary.name or session.summary.first_message or session.summary.id
    return text if len(text) <= SHOWN_TITLE else f"{text[: SHOWN_TITLE - 1]}…"


def _session_json(session: ListedSession, excerpt: str | None) -> SessionJson:
    facts = session.summary
    return SessionJson(
        id=facts.id,
        path=str(session.path),
        cwd=facts.cwd,
        name=facts.name,
        first_message=facts.first_message,
        message_count=facts.message_count,
        created=iso_timestamp(facts.created_ms),
        last_active=iso_timestamp(facts.active_ms),
        excerpt=excerpt,
    )
