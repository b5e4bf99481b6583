from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from pi.modes.log_file import MAX_BYTES, NAME, start_log
from pi.tui.screen.screen import Frame, Screen


def test_secrets_do_not_get_into_the_log(tmp_path: Path) -> None:
    stop = start_log(tmp_path, {"OPENAI_API_KEY": "correct horse"})
    try:
        logging.getLogger("pi.test").error("key sk-abcdefghijklmnopqrstuvwx and correct horse")
    finally:
        stop()

    text = (tmp_path / "pi.log").read_text()
    assert "pi.test: key [redacted] and [redacted]" in text


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
def test_the_log_is_private_even_after_rotation(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    stop = start_log(tmp_path, {})
    try:
        for _ in range(3):
            logging.getLogger("pi.test").error("x" * (MAX_BYTES // 2))
    finally:
        stop()

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("pi.log*")}
    assert modes == {"pi.log": 0o600, "pi.log.1": 0o600, "pi.log.2": 0o600}


def test_tracebacks_are_masked_too(tmp_path: Path) -> None:
    stop = start_log(tmp_path, {})
    try:
        raise ValueError("token ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    except ValueError:
        logging.getLogger("pi.test").exception("it failed")
    finally:
        stop()

    text = (tmp_path / "pi.log").read_text()
    assert "Traceback" in text
    assert "ghp_" not in text


def test_text_redacted_by_extensions_is_not_logged(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        logging.getLogger("pi.test").info("redacting")
        return text.replace("Ada", "someone")

    stop = start_log(tmp_path, {}, redact=redact)
    try:
        logging.getLogger("pi.test").error("Ada was here")
    finally:
        stop()

    text = (tmp_path / "pi.log").read_text()
    assert "pi.test: someone was here" in text
    assert "Ada" not in text
    assert "pi.test: redacting" in text


def test_a_line_that_cannot_be_redacted_is_left_out(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        raise LookupError("no such name")

    stop = start_log(tmp_path, {}, redact=redact)
    try:
        logging.getLogger("pi.test").error("Ada was here")
    finally:
        stop()

    assert (tmp_path / "pi.log").read_text() == (
        "Line omitted: redaction by an extension failed (LookupError('no such name')).\n"
    )


def test_errors_are_reported_unless_they_already_were(tmp_path: Path) -> None:
    reported: list[str] = []
    stop = start_log(tmp_path, {}, on_error=reported.append)
    try:
        log = logging.getLogger("pi.test")
        log.warning("only a warning")
        log.error("%s broke\nin two lines", "it")
        log.error("%s broke\nin two lines", "another")
        log.error("known", extra={"is_reported": True})
        for number in range(2):
            log.error(f"it is never retrieved\nfuture: {number}")
    finally:
        stop()

    assert reported == ["it broke", "it is never retrieved"]


def test_an_invalid_record_does_not_raise(tmp_path: Path) -> None:
    reported: list[str] = []
    stop = start_log(tmp_path, {}, on_error=reported.append)
    try:
        handler = logging.getLogger().handlers[-1]  # not by way of pytest's own, which raises
        for text, arguments in (({"no": "text"}, None), ("%d of %d", ("one",))):
            record = {"levelno": logging.ERROR, "msg": text, "args": arguments}
            handler.handle(logging.makeLogRecord(record))
    finally:
        stop()

    assert reported == ["{'no': 'text'}"]


def test_nothing_is_logged_after_the_log_was_stopped(tmp_path: Path) -> None:
    start_log(tmp_path, {})()

    logging.getLogger("pi.test").error("too late")

    assert not (tmp_path / "pi.log").exists()


def test_a_log_that_cannot_be_written_is_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / NAME).mkdir()
    end = start_log(tmp_path, {})
    logging.getLogger("pi.somewhere").warning("lost")
    end()

    assert capsys.readouterr() == ("", "")


def test_a_log_directory_that_cannot_be_created_is_ignored(tmp_path: Path) -> None:
    in_the_way = tmp_path / "agent"
    in_the_way.write_text("a file\n")
    end = start_log(in_the_way / "below", {})
    logging.getLogger("pi.somewhere").warning("lost")
    end()

    assert in_the_way.read_text() == "a file\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full of Linux")
def test_a_full_disk_does_not_prevent_quitting(tmp_path: Path) -> None:
    (tmp_path / NAME).symlink_to("/dev/full")
    stop = start_log(tmp_path, {})

    logging.getLogger("test").error("lost")

    stop()


def test_a_secret_that_is_stored_later_does_not_get_into_the_log(tmp_path: Path) -> None:
    stop = start_log(tmp_path, {"MINE": "behind a name"})
    try:
        logging.getLogger("pi.test").error("first behind a name")
        (tmp_path / "auth.json").write_text('{"groq": {"type": "api_key", "key": "$MINE"}}')
        logging.getLogger("pi.test").error("second behind a name")
    finally:
        stop()

    text = (tmp_path / "pi.log").read_text()
    assert "first behind a name" in text
    assert "second [redacted]" in text


def test_frames_are_logged_only_with_pi_debug_redraw(tmp_path: Path) -> None:
    for folder, environ in (("off", {}), ("on", {"PI_DEBUG_REDRAW": "1"})):
        stop = start_log(tmp_path / folder, environ)
        Screen(10, 5).paint(Frame(["a"], 1))
        logging.getLogger("pi.test").debug("something else")
        stop()
    Screen(10, 5).paint(Frame(["a"], 1))

    assert not (tmp_path / "off/pi.log").exists()
    [line] = (tmp_path / "on/pi.log").read_text().splitlines()
    assert line.endswith(
        "seam rewrite (repaint changes): committed 0 (0 new), top 0, window 1 of 5 rows "
        "at 10 columns"
    )
