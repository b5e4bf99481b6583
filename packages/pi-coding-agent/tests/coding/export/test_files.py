from __future__ import annotations

import base64
import json
from pathlib import Path

import msgspec
import pytest

from pi.ai.messages import Image
from pi.ai.transcript import Instructions
from pi.base.clock import IdFactory
from pi.base.records import replace
from pi.coding.blobs.store import BlobStore
from pi.coding.export.files import (
    IN_MEMORY,
    NOTHING_YET,
    ExportFailed,
    branch_lines,
    default_name,
    destination,
    export_file,
    export_session,
)
from pi.coding.export.redaction import Redactor
from pi.coding.session.entries import Entry, ModelChange, SessionHeader, UnknownEntry
from pi.coding.session.errors import NotASession, SessionNotFound
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session, open_session, read_session
from tests.coding.export.sessions import HEADER, SECRET, chain, message, sample, user_message
from tests.coding.session.sessions import SESSIONS


def encoded(entry: Entry | SessionHeader) -> bytes:
    return msgspec.json.encode(entry.data if isinstance(entry, UnknownEntry) else entry) + b"\n"


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    file = tmp_path / "2026_id.jsonl"
    file.write_bytes(b"".join(map(encoded, (HEADER, *sample()))))
    return file


def in_memory() -> SessionLog:
    log = new_session(SessionLocation(None, "/home/ada", lambda _: None))
    log.append(message(user_message("hello")))
    return log


def test_a_page_is_named_after_its_session_and_written_to_the_working_directory(
    session_file: Path, tmp_path: Path
) -> None:
    cwd = tmp_path / "elsewhere"
    cwd.mkdir()

    made = export_file(session_file, cwd=cwd)

    assert made == cwd / "pi-session-2026_id.html"
    assert made.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert default_name(Path("odd name.txt")) == "pi-session-odd name.txt.html"


@pytest.mark.parametrize(
    ("name", "begins"),
    [("out.html", "<!doctype html>"), ("out.md", "# Mending"), ("out.txt", "=== System prompt"),
     ("out.jsonl", '{"type":"session"'), ("OUT.MD", "# Mending"),
     ("out", "<!doctype html>")],
)  # fmt: skip
def test_the_file_suffix_selects_the_export_format(
    session_file: Path, tmp_path: Path, name: str, begins: str
) -> None:
    made = export_file(session_file, Path(name), cwd=tmp_path)

    assert made == tmp_path / name
    assert made.read_text(encoding="utf-8").startswith(begins)


def test_an_export_to_a_directory_uses_the_default_file_name(
    session_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()

    assert export_file(session_file, Path("folder"), cwd=tmp_path) == (
        tmp_path / "folder/pi-session-2026_id.html"
    )


@pytest.mark.behaviour("import-never-overwrites")
def test_a_missing_session_fails_and_nothing_is_created(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound) as caught:
        export_file(Path("gone.jsonl"), cwd=tmp_path)

    assert caught.value.message == f"File not found: {tmp_path / 'gone.jsonl'}"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_session_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("hello\n", encoding="utf-8")

    with pytest.raises(NotASession):
        export_file(Path("a.jsonl"), cwd=tmp_path)


def test_the_session_itself_is_never_replaced(session_file: Path, tmp_path: Path) -> None:
    before = session_file.read_bytes()

    with pytest.raises(ExportFailed, match="is the session itself"):
        export_file(session_file, Path(session_file.name), cwd=tmp_path)
    export_file(session_file, cwd=tmp_path)

    assert session_file.read_bytes() == before


@pytest.mark.behaviour("export-has-prompt-and-tools")
@pytest.mark.parametrize("file", SESSIONS, ids=lambda file: file.stem)
def test_recorded_sessions_are_exported_with_prompt_and_tools(file: Path, tmp_path: Path) -> None:
    page = export_file(file, cwd=tmp_path).read_text(encoding="utf-8")

    has_prompt = b'"role":"system"' in file.read_bytes() or b'"systemMessage"' in file.read_bytes()
    assert ('<details id="prompt">' in page, '<details id="tools">' in page) == (
        has_prompt,
        has_prompt,
    )


def test_an_open_session_is_exported_without_its_secrets(live: SessionLog, tmp_path: Path) -> None:
    instructions = Instructions(prompt=f"You know {SECRET} and more.", tools=())

    page = export_session(live, cwd=tmp_path, secrets=[SECRET], instructions=instructions)

    text = page.read_text(encoding="utf-8")
    assert SECRET not in text
    assert "My password is [redacted]." in text
    assert "You know [redacted] and more." in text


def test_an_open_session_is_exported_at_its_current_leaf(live: SessionLog, tmp_path: Path) -> None:
    live.move_to(live.tree.outlines[0].id)

    text = export_session(live, Path("a.txt"), cwd=tmp_path).read_text(encoding="utf-8")

    assert "I forget it." not in text


def test_the_error_messages_are_those_of_the_protocol() -> None:
    assert IN_MEMORY == "Cannot export in-memory session to HTML"
    assert NOTHING_YET == "Nothing to export yet - start a conversation first"


def test_a_session_in_memory_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match=IN_MEMORY):
        export_session(in_memory(), cwd=tmp_path)


def test_a_session_without_messages_cannot_be_exported(tmp_path: Path) -> None:
    log = new_session(SessionLocation(tmp_path, "/home/ada", lambda _: None))
    log.append(ModelChange(provider="mock", model_id="m"))

    with pytest.raises(ExportFailed, match=NOTHING_YET):
        export_session(log, cwd=tmp_path)


def test_an_exported_branch_opens_as_a_session(session_file: Path, tmp_path: Path) -> None:
    log = SessionLog(read_session(session_file, IdFactory()), IdFactory())
    log.move_to("e22")
    (tmp_path / "branch.jsonl").write_bytes(branch_lines(log, Redactor()))

    branch = open_session(
        tmp_path / "branch.jsonl", SessionLocation(tmp_path, "/home/ada", lambda _: None)
    )
    branch.close()

    assert list(branch.entries()) == [sample()[n] for n in (*range(10), 21, 22)]
    assert (tmp_path / "branch.jsonl").read_bytes().count(b"\n") == len(branch.tree) + 1
    assert branch.header == HEADER


def test_an_exported_branch_keeps_unknown_fields(tmp_path: Path) -> None:
    line = {
        "type": "custom",
        "customType": "x",
        "new": [1],
        "key": SECRET,
        "id": "a",
        "parentId": None,
    }
    file = tmp_path / "s.jsonl"
    file.write_bytes(encoded(HEADER) + json.dumps(line).encode() + b"\n")

    made = export_file(file, Path("b.jsonl"), cwd=tmp_path, secrets=[SECRET])

    assert json.loads(made.read_bytes().splitlines()[1]) == line | {"key": "[redacted]"}


def test_an_image_stored_as_a_blob_is_embedded_in_the_page(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    pixels = b"\x89PNG\r\n\x1a\n and so on"
    picture = Image(data=base64.b64encode(pixels).decode(), mime_type="image/png")
    stored = replace(picture, data=blobs.put(pixels).ref)
    file = tmp_path / "s.jsonl"
    file.write_bytes(encoded(HEADER) + encoded(chain([message(user_message("look", stored))])[0]))

    made = export_file(file, cwd=tmp_path, blobs=blobs)

    assert picture.data in made.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argument", "file"),
    [
        ("", None),
        ("   ", None),
        (" a b.html ", "cwd/a b.html"),
        ('"a b.html"', "cwd/a b.html"),
        ("'a b.html' more", "cwd/a b.html"),
        ("~/a.html", "home/a.html"),
        ("/x/a.html", "/x/a.html"),
    ],
)
def test_the_argument_of_export_is_parsed_as_a_file_path(
    tmp_path: Path, argument: str, file: str | None
) -> None:
    path = destination(argument, cwd=tmp_path / "cwd", home=tmp_path / "home")

    assert path == (None if file is None else tmp_path / file)


@pytest.mark.parametrize("argument", ["copy", "--copy", "clipboard"])
def test_export_rejects_copy_with_a_hint(tmp_path: Path, argument: str) -> None:
    with pytest.raises(ExportFailed) as caught:
        destination(argument, cwd=tmp_path, home=tmp_path)

    assert caught.value.hint == "Use /dump to copy the session."


def test_a_quote_without_an_end_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match="No closing quotation"):
        destination('"a b', cwd=tmp_path, home=tmp_path)


@pytest.mark.parametrize("name", ["talk.pdf", "talk.PDF", "talk.docx", "talk.json"])
def test_a_format_that_cannot_be_written_is_refused(
    session_file: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ExportFailed, match="Cannot export as") as refused:
        export_file(session_file, Path(name), cwd=tmp_path)

    assert ".html, .md, .txt, .jsonl or .atif.json" in refused.value.hint
    assert not (tmp_path / name).exists()
