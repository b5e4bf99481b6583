"""The session facade for programs that embed pi."""

from __future__ import annotations

from pathlib import Path

from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_prompt_returns_the_last_answer(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("four"))
    async with await fixture.open() as session:
        answer = await session.prompt("2 + 2?")

        assert answer is not None
        assert answer.text == "four"
        assert answer == session.messages[-1]
        assert session.session_id == session.entries.log.header.id


async def test_prompt_returns_the_answer_to_the_last_queued_message(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("first"), says("second"))
    async with await fixture.open() as session:
        await session.follow_up("and then?")
        answer = await session.prompt("begin")

        assert answer is not None
        assert answer.text == "second"


async def test_a_session_can_be_replaced_and_opened_again(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    async with await fixture.open() as session:
        await session.prompt("hi")
        first, file = session.session_id, session.session_file
        await session.new_session()

        assert session.session_id != first
        assert file is not None
        await session.switch_session(file)
        assert (session.session_id, session.session_file) == (first, file)


async def test_active_tools_are_selected_and_unknown_names_are_ignored(tmp_path: Path) -> None:
    async with await SessionFixture(tmp_path).open() as session:
        session.set_active_tools(["read", "unheard-of"])

        assert session.active_tools == ("read",)
        assert {"read", "bash", "grep"} <= set(session.all_tools)


async def test_a_session_is_exported_as_an_html_page(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("four"))
    async with await fixture.open() as session:
        await session.prompt("2 + 2?")
        page = await session.export(str(tmp_path / "page.html"))

        assert page == tmp_path / "page.html"
        assert "four" in page.read_text()
