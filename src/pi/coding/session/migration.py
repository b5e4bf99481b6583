"""Older session files as the current version writes them. Pure, on JSON."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from pi.ai.messages import Json
from pi.coding.session.entries import SESSION_VERSION

NewId = Callable[[Container[str]], str]
"""Makes an id that is not among those taken."""


def version_of(header: Json) -> int:
    """The version of a file by its header; one that says none is of the first.

    What is no number was not written by any version: it is taken for the current one, so that the
    file is left as it is.
    """
    version = header.get("version", 1)
    return version if type(version) is int else SESSION_VERSION


def migrate(records: Sequence[Json], new_id: NewId) -> list[Json]:
    """The records of a file, header first, in the current version; those of one are unchanged."""
    version = version_of(records[0])
    migrated = list(records)
    if version < 2:
        migrated = _as_a_tree(migrated, new_id)
    if version < 3:
        migrated = [_with_custom_role(record) for record in migrated]
        migrated[0] = migrated[0] | {"version": SESSION_VERSION}
    return migrated


def _as_a_tree(records: list[Json], new_id: NewId) -> list[Json]:
    """Every entry gets an id and follows the one before it; one that has an id keeps its place."""
    tree = records[:1]
    taken: set[str] = {str(record.get("id")) for record in records[1:]}
    parent: str | None = None
    for record in records[1:]:
        if not isinstance(record.get("id"), str):
            record = record | {"id": new_id(taken), "parentId": parent}
        parent = record["id"]
        taken.add(record["id"])
        tree.append(record)
    return [_with_kept_id(record, tree) for record in tree]


def _with_kept_id(record: Json, tree: list[Json]) -> Json:
    """A compaction that names its first kept entry by number, naming it by id."""
    if record.get("type") != "compaction" or "firstKeptEntryIndex" not in record:
        return record
    compaction = dict(record)
    index = compaction.pop("firstKeptEntryIndex")
    known = type(index) is int and 0 <= index < len(tree)
    # Number 0 is the header, so all was kept. A number of no entry keeps nothing: its own id.
    kept = tree[max(index, 1)] if known else record
    return compaction | {"firstKeptEntryId": kept["id"]}


def _with_custom_role(record: Json) -> Json:
    message = record.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return record | {"message": message | {"role": "custom"}}
    return record
