"""The hooks, with input as Claude Code sends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from pi.batteries.timebox.adapters.claude_code import NOT_REPORTED, command_in, main, run_detached
from pi.batteries.timebox.core.timebox import EXPIRED, USAGE

START = 1_700_000_000_000
MINUTE = 60_000
SESSION = "0b3f7a52-5a0e-4c1b-9c55-2f9d4f0e7a11"


class Claude:
    """A fake of Claude Code for its hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transcript = folder / "transcript.jsonl"
        self.now = START
        self.ran: list[str] = []

    def start(self, source: str = "startup") -> Any:
        """``SessionStart``."""
        return self._hook("session-start", hook_event_name="SessionStart", source=source)

    def submit(self, prompt: str) -> Any:
        """``UserPromptSubmit``."""
        return self._hook("prompt-submit", hook_event_name="UserPromptSubmit", prompt=prompt)

    def stop(self, *, continues: bool = False) -> Any:
        """``Stop``."""
        return self._hook("stop", hook_event_name="Stop", stop_hook_active=continues)

    def spend(self, tokens: int) -> None:
        """Add a response to the transcript."""
        answer = {"type": "assistant", "message": {"usage": {"output_tokens": tokens}}}
        with self.transcript.open("a") as file:
            file.write(json.dumps(answer) + "\n")

    def _hook(self, event: str, **fields: Any) -> Any:
        payload = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": "/home/ada/project",
            "permission_mode": "default",
            **fields,
        }
        code, output, errors = self.run([event], json.dumps(payload))
        assert (code, errors) == (0, "")
        return json.loads(output)

    def run(self, arguments: list[str], text: str) -> tuple[int, str, str]:
        """The exit code, standard output and standard error."""
        output, errors = StringIO(), StringIO()
        code = main(
            arguments,
            stdin=StringIO(text),
            output=output,
            errors=errors,
            folder=self.folder / "timebox",
            now_ms=self.now,
            run=self.ran.append,
        )
        return code, output.getvalue(), errors.getvalue()

    @property
    def files(self) -> list[str]:
        """The saved files."""
        return sorted(path.name for path in self.folder.glob("timebox/*"))


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def blocked(*lines: str) -> dict[str, str]:
    return {"decision": "block", "reason": "\n".join(lines)}


def test_without_a_budget_no_message_is_shown_and_no_file_is_written(claude: Claude) -> None:
    assert [claude.start(), claude.submit("hello"), claude.stop()] == [{}, {}, {}]
    assert claude.files == []


def test_five_prompts_pass_and_the_sixth_is_blocked(claude: Claude) -> None:
    claude.start()
    assert claude.submit("/timebox turns:5 -- lmk done") == blocked(
        "Timebox set: 5 turns. When it is spent: lmk done"
    )

    answers = []
    for number in range(7):
        answers.append(claude.submit(f"question {number}"))
        claude.stop()

    assert answers[:4] == [{}, {}, {}, {}]
    nudge = answers[4]
    assert nudge["systemMessage"] == "Timebox nearly spent: this turn is the last."
    reported = nudge["hookSpecificOutput"]
    assert reported["hookEventName"] == "UserPromptSubmit"
    assert reported["additionalContext"].startswith("IMPORTANT TIMEBOX WARNING\n")
    assert answers[5] == blocked(
        "Timebox budget spent. Used 5 turns, 0s. The agent stops for this turn. The chat continues."
    )
    assert answers[6] == {}
    assert claude.ran == ["lmk done"]
    assert claude.files == [f"{SESSION}.json"]


def test_every_prompt_after_the_nudge_warns_the_model_but_not_the_user(
    claude: Claude,
) -> None:
    claude.submit("timebox 10m")
    claude.now += 8 * MINUTE
    claude.submit("first")
    claude.now += 90_000

    second = claude.submit("second")

    assert "systemMessage" not in second
    context = second["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("CRITICAL TIMEBOX WARNING\nBudget for this session: 30s left.")


def test_the_remaining_budget_is_shown_when_claude_stops(claude: Claude) -> None:
    claude.submit("/timebox 15m turns:5")
    claude.submit("hello")
    claude.now += MINUTE

    assert claude.stop() == {
        "systemMessage": "Timebox: 14m 0s left (15m budget) | 4 turns left (1/5)"
    }


def test_other_stop_hooks_are_overruled_when_the_time_is_over(claude: Claude) -> None:
    claude.submit("/timebox 10m -- lmk done")
    claude.submit("hello")
    claude.now += 10 * MINUTE

    assert claude.stop()["systemMessage"].startswith("Timebox: 0s left")
    assert claude.stop(continues=True) == {
        "continue": False,
        "stopReason": "Timebox budget spent. Used 1 turn, 10m 0s.",
    }
    assert claude.stop(continues=True) == {}
    assert claude.ran == ["lmk done"]


def test_a_turn_limit_does_not_end_a_continued_response(claude: Claude) -> None:
    claude.submit("/timebox turns:1")
    claude.submit("hello")

    assert "continue" not in claude.stop(continues=True)


def test_tokens_are_counted_from_the_position_of_the_transcript_at_the_start(
    claude: Claude,
) -> None:
    claude.spend(500)
    claude.submit("/timebox tokens:1k")
    claude.spend(800)

    assert claude.submit("first")["systemMessage"] == "Timebox nearly spent: 200 tokens left."
    claude.spend(200)
    assert claude.submit("second") == blocked(
        "Timebox budget spent. Used 1 turn, 0s, 1k tokens."
        " The agent stops for this turn. The chat continues."
    )


def test_a_cost_limit_is_rejected_in_claude_code(claude: Claude) -> None:
    assert claude.submit("/timebox 15m cost:2.50") == blocked(NOT_REPORTED)
    assert claude.files == []


@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_a_resumed_session_restores_its_budget(claude: Claude, source: str) -> None:
    claude.submit("/timebox 15m")
    claude.now += MINUTE

    assert claude.start(source) == {
        "systemMessage": "Restored. Timebox: 14m 0s left (15m budget) | no turn limit"
    }


def test_an_expired_budget_is_not_restored(claude: Claude) -> None:
    claude.submit("/timebox 15m")
    claude.now += 15 * MINUTE

    assert claude.start("resume") == {"systemMessage": EXPIRED}
    assert claude.submit("hello") == {}
    assert claude.start("resume") == {}


def test_off_and_status_replace_the_prompt_with_a_message(claude: Claude) -> None:
    claude.submit("/timebox turns:5")

    assert claude.submit("/timebox status") == blocked(
        "Timebox: no time limit | 5 turns left (0/5)"
    )
    assert claude.submit("/timebox off") == blocked("Timebox off.")
    assert claude.submit("/timebox off") == blocked("No active timebox.")
    assert claude.submit("/timebox soon") == blocked(USAGE)


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ("/timebox 15m", "15m"),
        ("  /Timebox  turns:5 -- lmk\n", "turns:5 -- lmk"),
        ("/timebox", ""),
        ("timebox 15m", "15m"),
        ("timebox off", "off"),
        ("timebox the work on the parser", None),
        ("timebox the 15 slowest tests", None),
        ("timebox status of this project", None),
        ("/timebox status of this project", "status of this project"),
        ("timebox", None),
        ("what is a /timebox 15m?", None),
        ("/timeboxed 15m", None),
    ],
)
def test_commands_are_distinguished_from_prompts_for_claude(
    prompt: str, arguments: str | None
) -> None:
    assert command_in(prompt) == arguments


@pytest.mark.parametrize(
    ("words", "text", "problem"),
    [
        ([], "{}", "timebox: expected one of session-start, prompt-submit, stop.\n"),
        (["pre-tool"], "{}", "timebox: expected one of session-start, prompt-submit, stop.\n"),
        (["stop"], "{}", "timebox: the stop hook failed: session_id is missing\n"),
        (["stop"], "[]", "timebox: the stop hook failed: session_id is missing\n"),
    ],
)
def test_an_invalid_hook_call_fails_with_a_reason_and_does_not_block(
    claude: Claude, words: list[str], text: str, problem: str
) -> None:
    assert claude.run(words, text) == (1, "", problem)


def test_the_hook_is_a_program(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def hook(event: str, **fields: Any) -> Any:
        finished = subprocess.run(
            [sys.executable, "-m", "pi.batteries.timebox.adapters.claude_code", event],
            input=json.dumps({"session_id": SESSION, **fields}),
            env={"CLAUDE_CONFIG_DIR": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (finished.returncode, finished.stderr) == (0, "")
        return json.loads(finished.stdout)

    hook("prompt-submit", prompt=f"/timebox turns:0 -- echo done > '{pipe}'")
    answer = hook("prompt-submit", prompt="hello")

    assert answer["decision"] == "block"
    assert pipe.read_text() == "done\n"  # the command outlives the hook until the pipe is read


def test_a_command_that_cannot_be_started_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_detached("echo a\0b")

    assert capsys.readouterr().err.startswith("timebox: Cannot start 'echo a\\x00b': ")
