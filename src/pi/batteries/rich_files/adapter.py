"""Connects the formats to ``read`` and ``write``, and guards what they write."""

from __future__ import annotations

from typing import Any

from pi.batteries.rich_files.archive_handler import ArchiveHandler
from pi.batteries.rich_files.conflict_handler import ConflictHandler
from pi.batteries.rich_files.database_handler import DatabaseHandler
from pi.batteries.rich_files.documents import DocumentReader
from pi.batteries.rich_files.guards import WriteGuards
from pi.extension import ExtensionAPI

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("richFiles.enabled", bool, False, "archives, databases, documents and conflicts"),
    ("richFiles.generatedGuard", bool, True, "refuse to overwrite generated files"),
    ("richFiles.shebangExecutable", bool, True, "make new scripts executable"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register the path forms, the scheme and the guards."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.add_view("tool", "read", "pi.batteries.rich_files.views:read")
    guards = WriteGuards(pi)
    pi.wrap_files(guards.write)
    databases_of_session = DatabaseHandler(pi)
    # Archives are added last, so they win: a path that names both is an archive.
    pi.add_path_form(databases_of_session.parse, databases_of_session)
    pi.wrap_files(databases_of_session.commit, at="last")
    archives_of_session = ArchiveHandler(pi)
    pi.add_path_form(archives_of_session.parse, archives_of_session)
    conflicts_of_session = ConflictHandler(pi)
    pi.add_scheme("conflict", conflicts_of_session)
    documents = DocumentReader(pi)
    pi.wrap_tool("read", conflicts_of_session.after_read)
    pi.wrap_tool("read", documents.read)
