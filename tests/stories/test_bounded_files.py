"""Endless files, pipes, patterns and programs, with the real program and little memory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.terminal import terminal
from tests.bounded import (
    CHILD,
    TIMEOUT_SECONDS,
    Report,
    home_with_model,
    plain_environment,
    run_bounded,
)
from tests.files import OLD_FD, put, stand_in
from tests.sampling import sampled
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")

FREEZING = "*a" * 30 + "b"
LONG_NAME = "a" * 200
REGULAR = "it is a device or a pipe, not a regular file"


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


class BoundedFilesFixture:
    """A user with a local model in an untrusted project."""

    def __init__(self, tmp_path: Path, model: LoopbackModel) -> None:
        self.model = model
        self._folder = tmp_path
        self._home = tmp_path / "home"
        self.agent_dir = home_with_model(self._home, model.url)
        self.project = tmp_path / "project"
        self.project.mkdir()
        self.programs = tmp_path / "bin"
        """The first folder of PATH."""

    def prompt(self, *words: str) -> Report:
        """Send a prompt in print mode."""
        return self.run("-p", "--model", "mine/m", "--tools", "read,find,grep", *words, "hello")

    def run(self, *words: str, stdin: str = "") -> Report:
        report = run_bounded(words, self._folder, cwd=self.project, env=self.environ, stdin=stdin)
        return report.check()

    @property
    def environ(self) -> dict[str, str]:
        env = plain_environment(self._home)
        return {**env, "PATH": f"{self.programs}:{env['PATH']}"}

    @property
    def report(self) -> Path:
        """The file to which a child on a terminal writes its resource usage."""
        return self._folder / "report.json"

    def tool_result(self) -> str:
        """Return the tool result in the last request."""
        messages = json.loads(self.model.requests[-1])["messages"]
        content = next(each["content"] for each in reversed(messages) if each["role"] == "tool")
        return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[BoundedFilesFixture]:
    with loopback_model() as model:
        yield BoundedFilesFixture(tmp_path, model)


@pytest.fixture(params=sampled([pipe, endless], 1), ids=["pipes", "endless"])
def make(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    found: Callable[[Path], None] = request.param
    return found


def test_endless_user_files_are_reported_and_skipped(
    kit: BoundedFilesFixture, make: Callable[[Path], None]
) -> None:
    named = ["SYSTEM.md", "AGENTS.md", "prompts/a.md", "skills/a/SKILL.md", ".env"]
    named += ["extensions/a.py", "extensions/b/pi.toml"]
    caches = ["extension-index.json", "session-index.json", "models-store.json"]
    for name in (*named, *caches, "keybindings.json", "themes/a.json"):
        make(kit.agent_dir / name)

    report = kit.prompt()

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert [name for name in named if f"{kit.agent_dir / name}" not in report.stderr] == []
    assert report.stderr.count(REGULAR) >= len(named)


@pytest.mark.parametrize(
    "name", ["settings.json", *sampled(["models.json", "auth.json", "trust.json"], keep=1)]
)
def test_an_endless_required_file_is_reported_in_one_line(
    kit: BoundedFilesFixture, make: Callable[[Path], None], name: str
) -> None:
    make(kit.agent_dir / name)

    report = kit.prompt()

    assert report.code == 1
    assert f"Cannot read {kit.agent_dir / name}: {REGULAR}." in report.stderr
    assert len(report.stderr.splitlines()) == 1


def test_a_project_with_endless_files_is_opened(
    kit: BoundedFilesFixture, make: Callable[[Path], None]
) -> None:
    named = [".pi/SYSTEM.md", "AGENTS.md", ".env", ".pi/prompts/a.md"]
    named += [".pi/skills/a/SKILL.md", ".pi/extensions/a.py"]
    for name in (*named, ".git/HEAD", ".git/config", ".gitignore", ".pi/skills/.gitignore"):
        make(kit.project / name)

    report = kit.prompt("--approve")

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert [name for name in named if f"{kit.project / name}" not in report.stderr] == []


def test_endless_settings_of_a_trusted_project_stop_the_start(
    kit: BoundedFilesFixture, make: Callable[[Path], None]
) -> None:
    make(kit.project / ".pi/settings.json")

    report = kit.prompt("--approve")

    assert report.code == 1
    assert f"{kit.project / '.pi/settings.json'}" in report.stderr
    assert REGULAR in report.stderr


@pytest.mark.full
def test_huge_files_are_reported_and_not_loaded_into_memory(
    kit: BoundedFilesFixture, tmp_path: Path
) -> None:
    session, extension = tmp_path / "huge.jsonl", kit.agent_dir / "extensions/huge.py"
    for path in (session, extension):
        put(path, "")
        os.truncate(path, 1 << 29)  # takes no space on the disk

    exported = kit.run("--export", str(session))
    prompted = kit.prompt()

    assert exported.code == 1
    assert f"Session file is not a valid pi session: {session}" in exported.stderr
    assert (prompted.code, prompted.stdout) == (0, "All is well.\n")
    assert f"{extension} is larger than 4 MiB" in prompted.stderr


@pytest.mark.full
def test_a_session_with_a_huge_hole_is_listed(kit: BoundedFilesFixture) -> None:
    kit.prompt("--name", "damaged")
    [session] = kit.agent_dir.glob("sessions/*/*.jsonl")
    os.truncate(session, 1 << 29)  # as a file system may leave it after a crash

    listed = kit.run("sessions")

    assert (listed.code, listed.stderr) == (0, "")
    assert "damaged" in listed.stdout


@pytest.mark.timing
@pytest.mark.parametrize("last", sampled(["custom_message", "message"], 1))
def test_a_session_with_a_huge_entry_continues_without_it(
    kit: BoundedFilesFixture, last: str
) -> None:
    kit.prompt("--name", "large")
    [session] = kit.agent_dir.glob("sessions/*/*.jsonl")
    leaf = json.loads(session.read_text().splitlines()[-1])
    with session.open("ab") as file:
        place = b'"id":"huge","parentId":"%b","timestamp":"%b"' % (
            leaf["id"].encode(),
            leaf["timestamp"].encode(),
        )
        if last == "message":
            file.write(b'{"type":"message",%b,"message":{"role":"user","content":"' % place)
            ending = b'"}}\n'
        else:  # its id comes after its content
            file.write(b'{"type":"custom_message","customType":"x","content":"')
            ending = b'",%b}\n' % place
        for _ in range(140):
            file.write(b"x" * (1 << 20))
        file.write(ending)
        later = {"role": "user", "content": "said later", "timestamp": 1}
        entry = {"type": "message", "id": "late", "parentId": "huge", "message": later}
        file.write(json.dumps({**entry, "timestamp": leaf["timestamp"]}).encode() + b"\n")
    size, end = session.stat().st_size, session.read_bytes()[-4096:]

    report = kit.prompt("--session", str(session))

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert f"{session} has an entry of 140 MiB, more than 128 MiB" in report.stderr
    seen = kit.model.requests[-1]
    assert [text in seen for text in ("hello", "An entry of 140 MiB was here", "said later")] == [
        True
    ] * 3
    with session.open("rb") as file:
        file.seek(size - 4096)
        assert file.read(4096) == end, "the file was only appended to"


@pytest.mark.full
def test_an_endless_gitignore_does_not_stop_a_search(kit: BoundedFilesFixture) -> None:
    (kit.project / ".git").mkdir()
    endless(kit.project / ".gitignore")
    put(kit.project / "f", "a needle")
    kit.model.tools = [("grep", {"pattern": "needle"}), ("find", {"pattern": "*"})]

    report = kit.prompt()

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert "f:1: a needle" in kit.model.requests[1]
    assert kit.tool_result() == ".gitignore\nf"


def test_an_endless_session_file_is_rejected(
    kit: BoundedFilesFixture, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "s.jsonl")

    report = kit.prompt("--session", str(tmp_path / "s.jsonl"))

    assert report.code == 1
    assert str(tmp_path / "s.jsonl") in report.stderr


@pytest.mark.full
def test_pathological_glob_patterns_are_matched_in_bounded_time(kit: BoundedFilesFixture) -> None:
    put(kit.project / LONG_NAME, "x")
    put(kit.project / "package" / LONG_NAME, "x")
    put(kit.project / ".gitignore", f"{FREEZING}\n**/**/{FREEZING}\n" * 50)
    put(kit.project / ".pi/skills/.gitignore", f"{FREEZING}\n")
    put(kit.project / ".pi/skills" / LONG_NAME / "SKILL.md", "---\ndescription: d\n---\n")
    put(kit.project / "package/pi.toml", f'skills = ["{FREEZING}", "!{FREEZING}"]\n')
    settings = {"packages": ["../package"], "skills": [FREEZING, f"!{FREEZING}"]}
    put(kit.project / ".pi/settings.json", json.dumps(settings))
    kit.model.tools = [
        ("find", {"pattern": FREEZING}),
        ("find", {"pattern": f"**/{FREEZING}/**/{{*a,*aa}}{{*a,*aa}}b"}),
        ("find", {"pattern": "{a,b}" * 40}),
        ("find", {"pattern": "*a"}),
    ]

    report = kit.prompt("--approve")

    assert (report.code, report.stdout) == (0, "All is well.\n")
    assert f"{LONG_NAME}\n" in kit.tool_result()
    assert "braces expand to more than 256 patterns" in kit.model.requests[3]


@pytest.mark.parametrize(
    "program",
    sampled([OLD_FD, "exit 3", "kill -SEGV $$", "exec yes"], keep=2),
    ids=["8.6", "fails", "crash", "flood"],
)
def test_files_are_found_if_fd_is_old_or_fails(kit: BoundedFilesFixture, program: str) -> None:
    stand_in(kit.programs / "fd", program)
    put(kit.project / "folder/a.py", "")
    kit.model.tools = [("find", {"pattern": "*.py"})]

    assert kit.prompt().code == 0
    assert kit.tool_result() == "folder/a.py"


def test_at_completes_files_with_fd_8_6_outside_of_a_repository(kit: BoundedFilesFixture) -> None:
    stand_in(kit.programs / "fd", OLD_FD)
    put(kit.project / "folder/poem.py", "")
    command = [sys.executable, "-m", "pi", "--model", "mine/m"]
    environ = {**kit.environ, "TERM": "xterm-256color"}

    with terminal(command, cwd=kit.project, env=environ) as screen:
        screen.wait_for(rb"mine", within=TIMEOUT_SECONDS)
        screen.send(b"@poe")
        screen.wait_for(rb"poem\.py", within=TIMEOUT_SECONDS)


@pytest.mark.parametrize("make", sampled([pipe, endless], keep=1), ids=["pipes", "endless"])
def test_the_screen_starts_if_git_head_is_endless(
    kit: BoundedFilesFixture, make: Callable[[Path], None]
) -> None:
    make(kit.project / ".git/HEAD")
    command = [sys.executable, str(CHILD), str(kit.report), "300", "--model", "mine/m"]
    environ = {**kit.environ, "TERM": "xterm-256color"}

    with terminal(command, cwd=kit.project, env=environ) as screen:
        screen.wait_for(rb"mine", within=TIMEOUT_SECONDS)
        screen.send(b"hello\r")
        screen.wait_for(rb"All is well\.", within=TIMEOUT_SECONDS)
        screen.send(b"\x04")
        assert screen.finish(within=TIMEOUT_SECONDS).exit_code == 0
    assert json.loads(kit.report.read_text())["peak_mb"] < 200


@pytest.mark.parametrize(
    "program",
    sampled(
        ["exit 3", "kill -SEGV $$", "exec yes", 'echo "rg: unrecognized flag --json" >&2; exit 2'],
        keep=1,
    ),
    ids=["fails", "crash", "flood", "old"],
)
def test_lines_are_found_if_ripgrep_fails(kit: BoundedFilesFixture, program: str) -> None:
    stand_in(kit.programs / "rg", program)
    put(kit.project / "folder/a.py", "needle\n")
    kit.model.tools = [("grep", {"pattern": "needle"}), ("find", {"pattern": "*.py"})]

    assert kit.prompt().code == 0
    assert "folder/a.py:1: needle" in kit.model.requests[1]
    assert kit.tool_result() == "folder/a.py"


@pytest.mark.full
def test_folders_that_link_to_each_other_are_searched_once(kit: BoundedFilesFixture) -> None:
    skills = kit.project / ".pi/skills"
    for number in range(12):
        (skills / f"f{number}").mkdir(parents=True)
        for other in range(12):  # 12 × 11 × 10 × … possible paths
            (skills / f"f{number}/l{other}").symlink_to(f"../f{other}")
    put(skills / "f11/good/SKILL.md", "---\nname: good\ndescription: d\n---\n")

    report = kit.prompt("--approve")

    assert report.code == 0
    assert "good/SKILL.md" in kit.model.requests[0]
