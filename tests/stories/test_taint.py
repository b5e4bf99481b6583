"""One hostile string is used as every name and argument of every command; the output is text.

Commands and options are taken from the program, so that new ones are covered.
"""

from __future__ import annotations

import errno
import json
import os
import pty
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pi.cli.options import FLAGS
from pi.cli.subcommand_rows import COMMANDS
from tests.cli.forked import fork_server
from tests.cli.program import Program
from tests.sampling import sampled
from tests.stories.taint import HOSTILE, LOOT, offences, offences_in_text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server that forks needs Linux")

RAW_MODE = b"\x1b[?2004h"
"""Written by the screen when it starts to read keys."""
SHORT = f"evil\x1b[5;31m\x1b]0;{LOOT}\x07"
SESSION = "0190aaaa-0000-7000-8000-000000000000"
MANIFEST = """# /// pi
# name = {name}
# activate = ["flag:odd"]
# flags = {{ odd = {{ type = "string", description = {name} }} }}
# subcommands = {{ odd = {{ help = {name} }} }}
# ///
def extension(pi):
    print({name})
"""


@dataclass(frozen=True)
class Place:
    """Folders and an environment in which every name is ``HOSTILE``."""

    cli: Program

    def run(self, *words: str, terminal: bool = False, **environ: str) -> str:
        """Run ``pi``. Returns everything that it writes to a pipe or a terminal."""
        ours, theirs = pty.openpty() if terminal else os.pipe()
        stdin = os.dup(theirs) if terminal else os.open(os.devnull, os.O_RDONLY)
        variables = {**self.cli.variables, **environ}
        child = fork_server().start(words, self.cli.cwd, variables, (stdin, theirs, theirs))
        os.close(stdin)
        os.close(theirs)
        if terminal:
            os.write(ours, b"\n\x04")  # answers any question
        written = _read(ours, terminal=terminal)
        child.wait()
        os.close(ours)
        return written.decode("utf-8", "surrogateescape")


def _read(ours: int, *, terminal: bool) -> bytes:
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError as problem:  # Linux raises this if the other side is closed
            if problem.errno != errno.EIO:
                raise
            return written
        if not chunk:
            return written
        written += chunk
        if terminal and RAW_MODE in written:
            with suppress(OSError):
                os.write(ours, b"\x03")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("t") / SHORT
    folder.mkdir()
    cli = Program(folder / "home", folder / HOSTILE, {"PIP_NO_INDEX": "1", "PI_OFFLINE": "1"})
    for path in (cli.home, cli.cwd / ".git", cli.cwd / ".pi/extensions"):
        path.mkdir(parents=True)
    (cli.cwd / ".git/HEAD").write_text(f"ref: refs/heads/{HOSTILE}\n")
    (cli.cwd / ".pi/extensions" / f"{HOSTILE}.py").write_text("x")
    (cli.cwd / "package/extensions").mkdir(parents=True)
    (cli.cwd / f"package/extensions/{HOSTILE}.py").write_text("def extension(pi): ...")
    escaped = json.dumps(HOSTILE)
    cli.write(f"extensions/{HOSTILE}.py", MANIFEST.format(name=escaped))
    cli.write(f"skills/{HOSTILE}/SKILL.md", f"---\nname: {escaped}\n---\n")
    cli.write(f"prompts/{HOSTILE}.md", f"---\ndescription: {escaped}\n---\n")
    cli.write(f"themes/{HOSTILE}.json", "{")
    model = {"id": HOSTILE, "name": HOSTILE}
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": HOSTILE,
        "models": [model],
    }
    cli.write("models.json", json.dumps({"providers": {HOSTILE: provider}}))
    cli.write("auth.json", json.dumps({HOSTILE: {"type": "api_key", "key": "k"}}))
    settings = {
        "packages": [HOSTILE, f"npm:{HOSTILE}", {"source": str(cli.cwd / "package")}],
        "theme": HOSTILE,
        "retry": {"enabled": False},
        "sessionDir": str(cli.home / "sessions"),
        "defaultProvider": HOSTILE,
        "defaultModel": HOSTILE,
        HOSTILE: HOSTILE,
    }
    cli.write("settings.json", json.dumps(settings))
    (cli.home / "sessions").mkdir()
    stamp = "2026-01-01T00:00:00.000Z"
    lines = [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": stamp, "cwd": str(cli.cwd)},
        {
            "type": "message",
            "id": "a0000001",
            "parentId": None,
            "timestamp": stamp,
            "message": {"role": "user", "content": HOSTILE, "timestamp": 1},
        },
        {
            "type": "session_info",
            "id": "a0000002",
            "parentId": "a0000001",
            "timestamp": stamp,
            "name": HOSTILE,
        },
    ]
    (cli.home / "sessions" / f"2026-01-01T00-00-00-000Z_{SESSION}.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines)
    )
    return Place(cli)


def of_commands() -> Iterator[tuple[str, ...]]:
    """Yield every form of every command."""
    for command in COMMANDS:
        for form in command.forms:
            yield from _filled(form.usage)
    yield "relay", "serve", "--bind", HOSTILE
    yield "auth", "print-api-key", "--provider", HOSTILE
    yield "sessions", "--json", "--all"
    yield "sessions", "--texts", "evil"
    yield "install", "./package"
    yield "remove", "./package"
    yield ("--list-models",)
    yield ("--help",)
    yield "--export", str(SESSION), HOSTILE
    yield "--verbose", "-p", "--model", "demo/tour", HOSTILE
    yield "--mode", "json", "-p", "--model", "demo/tour", HOSTILE


def of_options() -> Iterator[tuple[str, ...]]:
    """Yield every option of every command, and unknown options."""
    for command in COMMANDS:
        for flag in command.flags:
            yield (command.name, flag.name, *([] if flag.kind == "switch" else [HOSTILE]))
        yield command.name, f"--{HOSTILE}"
        yield command.name, HOSTILE, HOSTILE, HOSTILE
    yield "auth", "check", "--json", "--credentials", "--provider", HOSTILE
    for flag in FLAGS:
        if flag.kind != "switch":
            yield flag.name, HOSTILE, "-p", HOSTILE
    yield "-p", f"--{HOSTILE}", HOSTILE
    yield "-p", f"@{HOSTILE}", HOSTILE
    yield "odd", "-p", HOSTILE


def _filled(usage: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a form with the hostile string as every argument."""
    choices: list[list[str]] = [[]]
    for word in usage.split():
        if word == "<id>":
            fillings = [HOSTILE, SESSION]
        elif word[0] in "<[":
            fillings = [HOSTILE, *word.strip("<>[]").split("|")[1:]]
        else:
            fillings = word.split("|")
        choices = [[*words, filling] for words in choices for filling in fillings]
    # Excluded: downloading the embedded model, deleting the session, and servers that never end.
    left_out = (["pull"], ["delete", SESSION], ["serve"])
    yield from (tuple(words) for words in choices if words[1:] not in left_out)


def printed(place: Place, lines: Iterable[tuple[str, ...]], *, terminal: bool) -> int:
    """Run all command lines and check their output. Returns how many printed the name."""
    look = offences if terminal else offences_in_text
    bad, shown = {}, 0
    for words in dict.fromkeys(lines):
        written = place.run(*words, terminal=terminal)
        shown += "nasty" in written
        if found := look(written):
            bad[words] = found[:3]
    assert bad == {}
    return shown


@pytest.mark.parametrize("terminal", sampled([True, False], 1), ids=["terminal", "pipe"])
@pytest.mark.parametrize("step", sampled((3, 1), 1))
def test_no_command_prints_control_sequences_of_hostile_names(
    place: Place, step: int, *, terminal: bool
) -> None:
    lines = list(dict.fromkeys(of_commands()))[::step]

    assert printed(place, lines, terminal=terminal) > 20 // step


@pytest.mark.parametrize("step", sampled((4, 1), 1))
def test_no_option_prints_control_sequences_of_hostile_values(place: Place, step: int) -> None:
    lines = list(dict.fromkeys(of_options()))[::step]

    assert printed(place, lines, terminal=False) > 30 // step


@pytest.mark.parametrize(
    "name",
    sampled(
        [
            *("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_DEBUG", "PI_TIMING"),
            *("HTTPS_PROXY", "VLLM_BASE_URL", "SHELL", "XDG_CONFIG_HOME"),
        ],
        keep=2,
    ),
)
def test_no_environment_variable_is_printed_with_control_sequences(place: Place, name: str) -> None:
    for words in (("doctor",), ("--mode", HOSTILE), ("-p", "hi")):
        written = place.run(*words, terminal=False, **{name: HOSTILE})

        assert offences_in_text(written) == []


def test_hostile_model_names_of_a_server_are_printed_sanitised(place: Place) -> None:
    with _server({"data": [{"id": HOSTILE, "owned_by": HOSTILE}]}) as port:
        found = {"VLLM_BASE_URL": f"http://127.0.0.1:{port}/v1", "PI_OFFLINE": ""}
        for words in (("models",), ("doctor",), ("--list-models", "evil")):
            written = place.run(*words, terminal=True, **found)

            assert "nasty" in written
            assert offences(written) == []


def test_an_answer_is_sanitised_on_a_terminal_and_exact_in_a_pipe(place: Place) -> None:
    choice = {"index": 0, "delta": {"content": HOSTILE}, "finish_reason": "stop"}
    with _server({"choices": [choice]}, is_stream=True) as port:
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "m"}],
        }
        models = place.cli.agent_dir / "models.json"
        before = models.read_text()
        models.write_text(json.dumps({"providers": {"says": provider}}))
        try:
            words = ("--no-extensions", "-p", "--model", "says/m", "hi")
            assert HOSTILE in place.run(*words)
            shown = place.run(*words, terminal=True)
        finally:
            models.write_text(before)
    assert "nasty" in shown
    assert offences(shown) == []


def test_the_real_program_prints_hostile_names_sanitised(place: Place) -> None:
    ended = place.cli.run("doctor")

    assert "nasty" in ended.out
    assert offences_in_text(ended.out + ended.err) == []


@contextmanager
def _server(answer: object, *, is_stream: bool = False) -> Iterator[int]:
    """Run a local server that always sends this response. Yields its port."""
    body, kind = json.dumps(answer).encode(), "application/json"
    if is_stream:
        body, kind = b"data: " + body + b"\n\ndata: [DONE]\n\n", "text/event-stream"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
