from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bench.mock_process import MockProcess
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.cli.requests import last_prompts
from tests.sampling import sampled

FULL = Path("/dev/full")
"""A device that rejects every write, as a full disk does."""

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def saved_answers(cli: Program) -> list[tuple[str, str]]:
    """Stop reason and text of the answers in the only session."""
    (lines,) = cli.sessions()
    answers = [line["message"] for line in lines if line["type"] == "message"]
    return [
        (answer["stopReason"], "".join(part.get("text", "") for part in answer["content"]))
        for answer in answers
        if answer["role"] == "assistant"
    ]


def in_an_answer(cli: Program) -> subprocess.Popen[bytes]:
    """The program in the middle of a slow answer, after its first output."""
    child = cli.start("--model", "mock/echo-400@100", "--mode", "json", "hello")
    assert child.stdin is not None and child.stdout is not None
    child.stdin.close()
    child.stdin = None  # so that communicate() leaves it alone
    for line in child.stdout:
        if b'"text_delta"' in line:
            return child
    raise AssertionError("it ended before it said anything")


def test_a_tls_failure_is_reported_with_what_to_do(cli: Program) -> None:
    models = cli.agent_dir / "models.json"
    models.write_text(models.read_text().replace("http://", "https://"))
    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert ended.code == 1
    assert ended.err.startswith("TLS with ")
    assert ended.err.endswith(". Check the certificates of this machine and of the server.\n")


@pytest.mark.behaviour("print-mode-exit-codes")
@pytest.mark.skipif(not FULL.exists(), reason="/dev/full of Linux")
@pytest.mark.parametrize("arguments", sampled([["-p"], ["--mode", "json"]], keep=1))
def test_a_full_disk_while_writing_the_answer_exits_with_1(
    cli: Program, arguments: tuple[str, ...]
) -> None:
    with FULL.open("wb") as full:
        child = cli.start(*arguments, "--model", "mock/echo-3", "hello", stdout=full)
        _, reported = child.communicate(b"", timeout=60)

    assert child.returncode == 1
    assert reported.decode() == "Error: Cannot write the output: No space left on device\n"


@posix
@pytest.mark.behaviour("output-is-flushed")
def test_a_closed_output_pipe_ends_pi_quietly(cli: Program) -> None:
    with cli.start("--mode", "json", "--model", "mock/echo-400@100", "x") as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdin.close()
        child.stdout.readline()
        child.stdout.close()
        errors = child.stderr.read()
        code = child.wait(TIMEOUT_SECONDS)

    assert (code, errors) == (0, b"")


@pytest.mark.behaviour("output-is-flushed")
def test_all_output_is_written_before_pi_ends(cli: Program) -> None:
    ended = cli.run("--mode", "json", "--model", "mock/echo-150", *["again"] * 5)

    last = json.loads(ended.out.splitlines()[-1])
    assert (ended.code, last["type"]) == (0, "agent_settled")
    assert ended.out.count('"type":"text_delta"') == 5 * 150


@posix
@pytest.mark.behaviour("signals-shut-down")
@pytest.mark.parametrize(
    ("number", "code"),
    sampled([(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -signal.SIGINT)], keep=1),
)
def test_a_signal_ends_pi_with_its_exit_code_and_saves_the_partial_answer(
    cli: Program, number: signal.Signals, code: int
) -> None:
    child = in_an_answer(cli)

    child.send_signal(number)
    _, errors = child.communicate(timeout=TIMEOUT_SECONDS)

    assert (child.returncode, errors) == (code, b"")
    ((reason, text),) = saved_answers(cli)
    assert reason == "aborted" and text.startswith("The")


@posix
def test_a_signal_ends_pi_while_it_waits_for_its_input(cli: Program) -> None:
    with cli.start("-p", "--thinking", "reported first", "--model", "mock/echo-3", "x") as child:
        assert child.stdin is not None and child.stderr is not None
        child.stdin.write(b"a beginning")
        child.stdin.flush()
        assert child.stderr.readline().startswith(b"Warning: Invalid thinking level")
        child.send_signal(signal.SIGTERM)  # it reads until the pipe closes, which it does not
        code = child.wait(TIMEOUT_SECONDS)
        child.stdin.close()

    assert code == 143


@posix
@pytest.mark.parametrize("closed", sampled(["<&-", "2>&-", "<&- 2>&-"], keep=1))
def test_pi_answers_although_a_standard_stream_is_closed(
    cli: Program, server: MockProcess, closed: str
) -> None:
    command = f'"{sys.executable}" -m pi -p --model mock/echo-3 hello {closed}'

    finished = subprocess.run(
        ["sh", "-c", command],
        cwd=cli.cwd,
        env=cli.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert (finished.returncode, finished.stdout) == (0, b"The quick brown\n")
    assert last_prompts(server) == ["hello"]


@posix
def test_sigterm_ends_pi_while_an_attached_pipe_has_no_data(cli: Program, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = cli.start("-p", "--model", "mock/echo-3", f"@{pipe}", stdin=subprocess.DEVNULL)
    with pipe.open("wb"):  # opens when pi reads it
        child.send_signal(signal.SIGTERM)
        _, reported = child.communicate(timeout=TIMEOUT_SECONDS)

    # With a blocked loop, the default action of the signal would end it after 3 seconds (-15).
    assert (child.returncode, reported) == (143, b"")


def test_piped_input_without_end_is_refused(cli: Program) -> None:
    child = cli.start("-p", "--model", "mock/echo-3", "hello")
    assert child.stdin is not None
    block = bytes(1 << 20)
    with suppress(BrokenPipeError):
        for _ in range(65):
            child.stdin.write(block)
    _, reported = child.communicate(timeout=TIMEOUT_SECONDS)

    assert child.returncode == 1
    assert reported == b"Error: Cannot read standard input: larger than 64 MiB.\n"
