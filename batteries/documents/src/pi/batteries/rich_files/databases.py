"""Tables and rows of SQLite databases: read them with limits, insert, update and delete rows.

Reads open the file with ``mode=ro``, allow only SELECT, and stop after a deadline.
All functions block; callers run them in a thread.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from pi.extension import BadFormat, Record, ToolFailed, parse_json5

MAGIC = b"SQLite format 3\x00"
MAX_TABLES = 500
SAMPLE = 5
DEFAULT_LIMIT, MAX_LIMIT = 20, 500
MAX_QUERY_ROWS = 1000
MAX_WIDTH, NARROW_WIDTH = 120, 40
"""Characters of a value: in a single column or row, and in a table of several columns."""
SECONDS = 5.0
"""Maximum of seconds for one read."""
BUSY_MS = 3000
_NAMES = re.compile(r"\.(?:sqlite3?|db3?)(?=[:?]|$)", re.IGNORECASE)
_INSTRUCTIONS = 10_000
"""SQLite instructions between two checks of the deadline."""
_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_TABLE_PRAGMAS = {"table_info", "table_xinfo", "table_list"}

Row: TypeAlias = Sequence[Any]


class DatabasePath(Record):
    """A path into a database: the file, and a table, a row or a query."""

    file: str
    table: str = ""
    key: str | None = None
    query: str | None = None
    """The text after ``?``."""
    is_bare: bool = False


class RowResult(Record):
    """The result of a write."""

    text: str
    changed: bool


def database_paths(path: str) -> Iterator[DatabasePath]:
    """Yield every split of ``path`` into a database and the rest; longest file name first."""
    for match in reversed([*_NAMES.finditer(path)]):
        rest, query = path[match.end() :], None
        if "?" in rest:
            rest, _, query = rest.partition("?")
        table, colon, key = rest[1:].partition(":")
        yield DatabasePath(
            file=path[: match.end()],
            table=table,
            key=key if colon else None,
            query=query,
            is_bare=not rest and query is None,
        )


# Reading ------------------------------------------------------------------------------------------


def read_database(file: Path, ref: DatabasePath, stop: threading.Event) -> tuple[str, Any]:
    """Return a text for the model, and details for the view. Raises ``ToolFailed``."""
    options = dict(parse_qsl(ref.query or "", keep_blank_values=True))
    with _reading(file, stop) as db:
        if "q" in options:
            if ref.table or len(options) > 1:
                raise ToolFailed("?q= takes no table and no other parameters.")
            return _select(db, options["q"])
        if not ref.table:
            if options:
                raise ToolFailed("Query parameters need a table: db.sqlite:table?limit=20.")
            return _tables(db)
        _known_table(db, ref.table)
        if ref.key is not None:
            if options:
                raise ToolFailed("A row takes no query parameters.")
            return _row(db, ref.table, ref.key)
        if options:
            return _page(db, ref.table, options)
        return _sample(db, ref.table)


def _tables(db: sqlite3.Connection) -> tuple[str, Any]:
    tables = db.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT ?",
        (MAX_TABLES + 1,),
    ).fetchall()
    lines = [f"{name} ({kind}, {_count_rows(db, name)} rows)" for name, kind in tables[:MAX_TABLES]]
    if len(tables) > MAX_TABLES:
        lines.append(f"[Only the first {MAX_TABLES} tables are shown. Use ?q=SELECT … for others.]")
    return "\n".join(lines) or "The database has no tables.", {"tables": [n for n, _ in tables]}


def _count_rows(db: sqlite3.Connection, table: str) -> str:
    try:
        return str(db.execute(f"SELECT count(*) FROM {_quote(table)}").fetchone()[0])
    except sqlite3.Error:
        return "?"  # a view of a missing table


def _sample(db: sqlite3.Connection, table: str) -> tuple[str, Any]:
    schema = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    cursor = db.execute(f"SELECT * FROM {_quote(table)} LIMIT {SAMPLE}")
    text, details = _table(cursor, cursor.fetchall())
    total = _count_rows(db, table)
    note = f"[{total} rows; the first {SAMPLE} at most are shown. Use ?limit=20&offset=0 for more.]"
    return f"{schema}\n\n{text}\n\n{note}", details


def _page(db: sqlite3.Connection, table: str, options: Mapping[str, str]) -> tuple[str, Any]:
    if unknown := options.keys() - {"limit", "offset", "order", "where"}:
        raise ToolFailed(
            f"Unknown parameter {min(unknown)}; there are limit, offset, order and where."
        )
    limit = _number(options, "limit", DEFAULT_LIMIT)
    if not 1 <= limit <= MAX_LIMIT:
        raise ToolFailed(f"limit must be between 1 and {MAX_LIMIT}.")
    offset = _number(options, "offset", 0)
    sql = f"SELECT * FROM {_quote(table)}"
    if condition := options.get("where", "").strip():
        sql += f" WHERE ({condition})"
    if order := options.get("order", "").strip():
        sql += f" ORDER BY {_order(db, table, order)}"
    cursor = _execute(db, f"{sql} LIMIT {limit + 1} OFFSET {offset}")
    rows = cursor.fetchall()
    text, details = _table(cursor, rows[:limit])
    if len(rows) > limit:
        text += f"\n\n[More rows follow. Use offset={offset + limit} to go on.]"
    return text, details


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, "") or str(default)
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise ToolFailed(f"{name} must be a whole number, not {text[:40]!r}.")
    return int(text)


def _order(db: sqlite3.Connection, table: str, order: str) -> str:
    """``ORDER BY`` terms from ``name``, ``-name`` or ``name desc``, separated by commas."""
    columns, terms = _columns(db, table), []
    for part in order.split(","):
        match = re.fullmatch(r"\s*(-?)(.+?)(?:[\s:]+(asc|desc))?\s*", part, re.IGNORECASE)
        name = match[2] if match else part
        if match is None or name not in columns:
            raise ToolFailed(
                f"There is no column {name} to order by; {table} has {_list(columns)}."
            )
        down = bool(match[1]) != ((match[3] or "").lower() == "desc")
        terms.append(f"{_quote(name)} {'DESC' if down else 'ASC'}")
    return ", ".join(terms)


def _row(db: sqlite3.Connection, table: str, key: str) -> tuple[str, Any]:
    column = key_column(db, table)
    cursor = db.execute(f"SELECT * FROM {_quote(table)} WHERE {column} = ?", (_key(key),))
    row = cursor.fetchone()
    if row is None:
        raise ToolFailed(f"There is no row {key!r} in {table}.")
    names = [column[0] for column in cursor.description]
    lines = [f"{name}: {_cell(v, MAX_WIDTH * 100)}" for name, v in zip(names, row, strict=True)]
    return "\n".join(lines), {"columns": names, "rows": [[_json(value) for value in row]]}


def _select(db: sqlite3.Connection, sql: str) -> tuple[str, Any]:
    if not sql.strip():
        raise ToolFailed("?q= needs a SELECT.")
    cursor = _execute(db, sql)
    if cursor.description is None:
        raise ToolFailed("Only queries that return rows are allowed: SELECT or WITH.")
    rows = cursor.fetchmany(MAX_QUERY_ROWS + 1)
    text, details = _table(cursor, rows[:MAX_QUERY_ROWS])
    if len(rows) > MAX_QUERY_ROWS:
        text += f"\n\n[Only the first {MAX_QUERY_ROWS:,} rows are shown. Add LIMIT and OFFSET.]"
    return text, details


def _table(cursor: sqlite3.Cursor, rows: Sequence[Row]) -> tuple[str, Any]:
    names = [column[0] for column in cursor.description]
    width = MAX_WIDTH if len(names) == 1 else NARROW_WIDTH
    lines = [" | ".join(_cell(name, width) for name in names)]
    lines.append(" | ".join("---" for _ in names))
    lines += [" | ".join(_cell(value, width) for value in row) for row in rows]
    text = "\n".join(lines) if rows else lines[0] + "\n(no rows)"
    return text, {"columns": names, "rows": [[_json(v) for v in row] for row in rows[:100]]}


def _cell(value: Any, width: int) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = str(value).replace("\r", "\\r").replace("\n", "\\n")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _json(value: Any) -> Any:
    return _cell(value, MAX_WIDTH) if isinstance(value, bytes | str) else value


# Writing ------------------------------------------------------------------------------------------


def parse_row(content: str) -> dict[str, Any]:
    """Parse the content of a write. Raises ``ToolFailed`` unless it is an object of scalars."""
    try:
        value = parse_json5(content)
    except BadFormat as error:
        raise ToolFailed(f"The row {error.explain()}") from error
    if not isinstance(value, dict):
        raise ToolFailed("The row must be an object: {column: value}.")
    for name, cell in value.items():
        if isinstance(cell, dict | list):
            raise ToolFailed(f"The value of {name} must be a scalar, not an object or a list.")
        if isinstance(cell, int) and not -(2**63) <= cell < 2**63:
            raise ToolFailed(f"The value of {name} does not fit into 64 bits.")
    return value


def write_row(db: sqlite3.Connection, ref: DatabasePath, content: str) -> RowResult:
    """Insert, update or delete a row; the caller commits."""
    _known_table(db, ref.table)
    table = _quote(ref.table)
    if ref.key is None:
        return _insert(db, ref.table, parse_row(content))
    column = key_column(db, ref.table)
    if not content.strip():
        count = db.execute(f"DELETE FROM {table} WHERE {column} = ?", (_key(ref.key),)).rowcount
        done = f"Deleted row '{ref.key}' from {ref.table}"
        missing = f"No row deleted: there is no row '{ref.key}' in {ref.table}"
        return RowResult(text=done if count else missing, changed=bool(count))
    row = parse_row(content)
    if not row:
        raise ToolFailed("The row has no columns to update.")
    _known_columns(db, ref.table, row)
    sets = ", ".join(f"{_quote(name)} = ?" for name in row)
    values = (*row.values(), _key(ref.key))
    count = db.execute(f"UPDATE {table} SET {sets} WHERE {column} = ?", values).rowcount
    done = f"Updated row '{ref.key}' in {ref.table}"
    missing = f"No row updated: there is no row '{ref.key}' in {ref.table}"
    return RowResult(text=done if count else missing, changed=bool(count))


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> RowResult:
    if not row:
        db.execute(f"INSERT INTO {_quote(table)} DEFAULT VALUES")
    else:
        _known_columns(db, table, row)
        names = ", ".join(map(_quote, row))
        marks = ", ".join("?" for _ in row)
        db.execute(f"INSERT INTO {_quote(table)} ({names}) VALUES ({marks})", (*row.values(),))
    return RowResult(text=f"Inserted row into {table}", changed=True)


@contextmanager
def changing(file: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection in a transaction: committed at the end, rolled back after an error."""
    with _explain_errors(file):
        db = sqlite3.connect(
            f"file:{quote(str(file))}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=BUSY_MS / 1e3,
        )
        try:
            db.set_authorizer(_allow_changes)
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        finally:
            db.close()


def changed_copy(file: Path, ref: DatabasePath, content: str) -> tuple[bytes, RowResult]:
    """The bytes of the database after a write, and its result; the file is not changed."""
    with _explain_errors(file):
        source = sqlite3.connect(
            f"file:{quote(str(file))}?mode=ro", uri=True, timeout=BUSY_MS / 1e3
        )
        copy = sqlite3.connect(":memory:", isolation_level=None)
        try:
            source.backup(copy)
            copy.set_authorizer(_allow_changes)
            result = write_row(copy, ref, content)
            copy.set_authorizer(None)  # serialising reads a PRAGMA
            return copy.serialize(), result
        finally:
            copy.close()
            source.close()


# Shared -------------------------------------------------------------------------------------------


def key_column(db: sqlite3.Connection, table: str) -> str:
    """The quoted column that identifies a row: the primary key, else ``rowid``.

    Raises ``ToolFailed`` for views, composite keys and tables without ``rowid``.
    """
    keys = [row[1] for row in db.execute(f"PRAGMA table_info({_quote(table)})") if row[5]]
    if len(keys) > 1:
        raise ToolFailed(f"{table} has a composite primary key; rows cannot be addressed by a key.")
    schema = db.execute(
        "SELECT sql, type FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')", (table,)
    ).fetchone()
    if schema[1] == "view":
        raise ToolFailed(f"{table} is a view; its rows have no key.")
    if re.search(r"\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$", schema[0] or "", re.IGNORECASE):
        raise ToolFailed(f"{table} is a WITHOUT ROWID table; rows cannot be addressed by a key.")
    return _quote(keys[0]) if keys else "rowid"


def _key(key: str) -> str | int:
    # A column without affinity compares 42 and '42' as different.
    return int(key) if re.fullmatch(r"-?[1-9][0-9]{0,17}|0", key) else key


def _known_table(db: sqlite3.Connection, table: str) -> None:
    names = [
        row[0]
        for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    ]
    if table not in names:
        raise ToolFailed(f"There is no table {table}; the database has {_list(names)}.")


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({_quote(table)})")]


def _known_columns(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    columns = _columns(db, table)
    for name in row:
        if name not in columns:
            raise ToolFailed(f"There is no column {name}; {table} has {_list(columns)}.")


def _list(names: Sequence[str]) -> str:
    visible_names = ", ".join(names[:20])
    return (visible_names + (f" and {len(names) - 20} more" if len(names) > 20 else "")) or "none"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _execute(db: sqlite3.Connection, sql: str) -> sqlite3.Cursor:
    try:
        return db.execute(sql)
    except sqlite3.DatabaseError as error:
        if "not authorized" in str(error) or "prohibited" in str(error):
            raise ToolFailed(
                "Only reading is allowed: no ATTACH, PRAGMA, changes or extensions."
            ) from error
        raise
    except sqlite3.ProgrammingError as error:
        raise ToolFailed(f"One statement at a time: {error}") from error


@contextmanager
def _reading(file: Path, stop: threading.Event) -> Iterator[sqlite3.Connection]:
    with _explain_errors(file):
        db = sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=BUSY_MS / 1e3)
        timer = threading.Timer(SECONDS, stop.set)
        timer.daemon = True
        try:
            db.text_factory = lambda data: data.decode("utf-8", "replace")
            db.set_authorizer(_allow_reading)
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 * 1024**2)
            db.set_progress_handler(lambda: int(stop.is_set()), _INSTRUCTIONS)
            timer.start()
            yield db
        finally:
            timer.cancel()
            db.close()


def _allow_reading(
    action: int, first: str | None, second: str | None, db: str | None, inner: str | None
) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and first in _TABLE_PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


_FORBIDDEN_CHANGES = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}


def _allow_changes(
    action: int, first: str | None, second: str | None, db: str | None, inner: str | None
) -> int:
    if action in _FORBIDDEN_CHANGES or second == "load_extension":
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and first not in _TABLE_PRAGMAS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


@contextmanager
def _explain_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        text = str(error)
        if text == "interrupted":
            text = f"the query took longer than {SECONDS:g} s; narrow it down"
        elif "locked" in text:
            text = f"{text}: another program is writing; nothing was changed, try again"
        raise ToolFailed(f"SQLite: {text} ({file.name}).") from error
