from __future__ import annotations

from pathlib import Path

from pi.base.records import replace
from pi.modes.interactive.startup import OpenContext
from pi.testing import says
from tests.modes.interactive.app_fixture import AppFixture


async def test_the_branch_is_in_the_footer_and_followed(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    head = app_fixture.fixture.write("project/.git/HEAD", "ref: refs/heads/main\n")
    async with app_fixture.running():
        await app_fixture.sees("~/project (main)")
        head.write_text("ref: refs/heads/other\n")
        await app_fixture.clock.advance(5.0)
        await app_fixture.sees("~/project (other)")


REDACTING = """\
def extension(pi):
    pi.add_redactor(lambda text, sink: text.replace("Ada", f"[{sink}]"))
    pi.on("agent_settled", lambda event, ctx: pi.log.warning("Ada has said something"))
"""


async def test_extensions_redact_the_log(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    app_fixture.fixture.write(".pi/agent/extensions/hide.py", REDACTING)
    async with app_fixture.running():
        app_fixture.send("hello")
        await app_fixture.rests()

    log = (app_fixture.fixture.home / ".pi/agent/pi.log").read_text()
    assert "pi.extensions.hide: [log] has said something" in log


LEAKING = """\
def extension(pi):
    def leak(event, ctx):
        raise ValueError("refused: correct horse")

    pi.on("agent_settled", leak)
"""
MODELS = """\
{"providers": {"own": {"baseUrl": "http://127.0.0.1:1", "apiKey": "correct horse"}}}
"""


async def test_an_error_of_an_extension_names_the_log_which_is_without_stored_keys(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."), columns=200)
    app_fixture.fixture.write(".pi/agent/extensions/leak.py", LEAKING)
    app_fixture.fixture.write(".pi/agent/models.json", MODELS)
    path = app_fixture.fixture.home / ".pi/agent/pi.log"
    async with app_fixture.running():
        app_fixture.send("hello")
        await app_fixture.sees(f"See {path}.")

    log = path.read_text()
    assert "ValueError: refused: [redacted]" in log
    assert "correct horse" not in log


def _raise(event: object) -> None:
    raise LookupError(event)


async def test_an_error_that_is_only_logged_is_reported_once(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."), says("Again."), columns=200)
    path = app_fixture.fixture.home / ".pi/agent/pi.log"
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.session.subscribe(_raise)
        for text, answer in (("hello", "Yes."), ("again", "Again.")):
            await app_fixture.asks(text, answer)

        assert f" ✗ A listener failed during AgentStart. See {path}." in app_fixture.tape
        assert app_fixture.tape.count("listener failed") == 1


async def test_a_warning_has_its_sign_and_not_the_word_as_well(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)

    async def warned(opening: OpenContext) -> None:
        opening.report("Warning: Mind the gap")

    app_fixture.before_open = warned
    async with app_fixture.running():
        await app_fixture.sees(" ! Mind the gap")


async def test_the_warning_about_an_unsaved_session_remains_in_the_transcript(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."), says("Still here."), says("Always."))

    async def reported_on_the_screen(opening: OpenContext) -> None:
        app_fixture.fixture.host = replace(app_fixture.fixture.host, report=opening.report)

    app_fixture.before_open = reported_on_the_screen
    async with app_fixture.running():
        app_fixture.send("hello")
        await app_fixture.rests()
        for file in (app_fixture.fixture.home / ".pi/agent/sessions").rglob("*.jsonl"):
            file.unlink()
        app_fixture.send("are you there?")
        await app_fixture.sees("Still here.")
        app_fixture.send("and now?")
        await app_fixture.sees("Always.")

        await app_fixture.sees(" ! The session is no longer saved, it continues in memory:")
