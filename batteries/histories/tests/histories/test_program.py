"""``pi import``: histories of other agents as sessions, in the real program."""

from __future__ import annotations

from pathlib import Path

from tests.cli.program import Program
from tests.histories.transcripts import claude_conversation, codex_conversation


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    claude_conversation(str(cli.cwd)).write(cli.home)
    codex_conversation("/work/other").write(cli.home)

    first = cli.run("import", "claude")
    before = cli.sessions()
    again = cli.run("import", "claude")
    other = cli.run("import", "codex")

    assert first.code == 0
    assert first.out == (
        "Imported from claude: 1 new, 0 updated, 0 unchanged.\n"
        "Not carried over: 1 messages of sub-agents.\n"
    )
    assert again == (0, "Imported from claude: 0 new, 0 updated, 1 unchanged.\n", "")
    assert cli.sessions() == before
    assert "1 of other folders: --all imports them too." in other.out
    assert "A pixel" in cli.run("sessions").out


def test_importing_from_an_unknown_agent_fails(tmp_path: Path) -> None:
    ended = Program.below(tmp_path).run("import", "aider")

    assert ended.code != 0
    assert "needs the name of an agent: claude or codex" in ended.err
