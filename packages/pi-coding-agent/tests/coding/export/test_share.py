from __future__ import annotations

import asyncio
import shutil
import stat
import sys
from pathlib import Path

import pytest

from pi.coding.export import share
from pi.coding.export.files import ExportFailed, ShareFailed
from pi.coding.export.share import Shared, command_handler, share_session
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from tests.coding.export.sessions import SECRET, message, user_message
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="gh is played by a shell script")

ID = "0123456789abcdef0123456789abcdef"
GIST = f"https://gist.github.com/ada/{ID}"

GH = f"""\
#!/bin/sh
case "$1" in
auth) exit 0 ;;
gist) cp "$4" "$KEPT/$$.html"; echo "- Creating gist..." >&2; echo "{GIST}" ;;
esac
"""


class ShareMachine:
    """A machine: programs that can be started, temporary files, and the pages that were shared."""

    def __init__(self, root: Path) -> None:
        self.programs, self.temporary, self.kept = (root / name for name in ("bin", "tmp", "kept"))
        for folder in (self.programs, self.temporary, self.kept):
            folder.mkdir()
        for tool in ("cp", "cat", "yes"):
            (self.programs / tool).symlink_to(shutil.which(tool) or tool)
        self.cwd = root
        self.env = {
            "PATH": str(self.programs),
            "TMPDIR": str(self.temporary),
            "KEPT": str(self.kept),
        }

    def install(self, name: str, script: str) -> str:
        file = self.programs / name
        file.write_text(script, encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    def pages(self) -> list[str]:
        return [file.read_text(encoding="utf-8") for file in self.kept.glob("*.html")]


@pytest.fixture
def machine(tmp_path: Path) -> ShareMachine:
    return ShareMachine(tmp_path)


async def test_a_session_becomes_a_secret_gist_without_its_secrets(
    live: SessionLog, machine: ShareMachine
) -> None:
    machine.install("gh", GH)

    shared = await share_session(live, cwd=machine.cwd, env=machine.env, secrets=[SECRET])

    assert shared == Shared(url=f"https://pi.dev/session/{ID}", gist_url=GIST)
    [page] = machine.pages()
    assert (SECRET in page, "My password is [redacted]." in page) == (False, True)
    assert list(machine.temporary.iterdir()) == []


@pytest.mark.behaviour("shares-do-not-collide")
async def test_two_shares_at_once_have_files_of_their_own(
    live: SessionLog, machine: ShareMachine
) -> None:
    files: list[Path] = []
    both_there = asyncio.Barrier(2)

    async def handler(file: Path) -> str:
        files.append(file)
        async with asyncio.timeout(20):
            await both_there.wait()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        return f"https://example.org/{file.parent.name}/{'x' * 300}"

    both = await asyncio.gather(
        *(share_session(live, cwd=machine.cwd, env=machine.env, handler=handler) for _ in range(2))
    )

    assert len(set(files)) == 2
    assert {shared.url for shared in both} == {
        f"https://example.org/{file.parent.name}/{'x' * 300}" for file in files
    }
    assert list(machine.temporary.iterdir()) == []


async def test_the_viewer_can_be_chosen(live: SessionLog, machine: ShareMachine) -> None:
    machine.install("gh", GH)
    env = machine.env | {"PI_SHARE_VIEWER_URL": "https://view.example/?gist="}

    shared = await share_session(live, cwd=machine.cwd, env=env)

    assert shared.url == f"https://view.example/?gist={ID}"


@pytest.mark.parametrize(
    ("answer", "shared"),
    [
        ("https://a.example/1", Shared(url="https://a.example/1")),
        (None, Shared(message="Session shared")),
        (Shared(message="in the drawer"), Shared(message="in the drawer")),
    ],
)
async def test_the_result_of_a_share_handler_is_returned(
    live: SessionLog, machine: ShareMachine, answer: Shared | str | None, shared: Shared
) -> None:
    async def handler(file: Path) -> Shared | str | None:
        return answer

    assert await share_session(live, cwd=machine.cwd, env=machine.env, handler=handler) == shared


async def test_a_failed_share_handler_does_not_fall_back_to_gh(
    live: SessionLog, machine: ShareMachine
) -> None:
    machine.install("gh", GH)

    async def broken(file: Path) -> str:
        raise RuntimeError("out\nof order")

    missing = command_handler(["no-such-program"], cwd=machine.cwd, env=machine.env)
    messages = []
    for handler in (broken, missing):
        with pytest.raises(ShareFailed) as caught:
            await share_session(live, cwd=machine.cwd, env=machine.env, handler=handler)
        messages.append(caught.value.message)

    assert messages == [
        "The share handler failed: out of order",
        "The share handler failed: Cannot start no-such-program: there is no such program.",
    ]
    assert machine.pages() == []


@pytest.mark.parametrize(
    ("script", "shared"),
    [
        ('cat "$1" > "$KEPT/1.html"; echo https://a.example/1', Shared(url="https://a.example/1")),
        ('echo "kept in the drawer"', Shared(message="kept in the drawer")),
        ("exit 0", Shared()),
    ],
)
async def test_a_command_can_be_the_handler(
    live: SessionLog, machine: ShareMachine, script: str, shared: Shared
) -> None:
    command = machine.install("hand-over", f"#!/bin/sh\n{script}\n")
    handler = command_handler([command], cwd=machine.cwd, env=machine.env)

    assert await share_session(live, cwd=machine.cwd, env=machine.env, handler=handler) == shared


@pytest.mark.parametrize(
    ("script", "message"),
    sampled(
        [
            ('[ "$1" = auth ] && exit 1', "GitHub CLI is not logged in."),
            ("kill -SEGV $$", "GitHub CLI cannot be used: it ended with signal 11."),
            (
                '[ "$1" = auth ] && exit 0; echo "HTTP 413: too large" >&2; exit 1',
                "Cannot create a gist: HTTP 413: too large",
            ),
            ('[ "$1" = auth ] && exit 0; exit 3', "Cannot create a gist: it ended with code 3."),
            ("echo done", "gh created a gist but did not say where it is."),
            ("exec /bin/sleep 600", "GitHub CLI cannot be used: it did not answer in time."),
            ("exec yes", "GitHub CLI cannot be used: it wrote output without end."),
            ("exec yes >&2", "GitHub CLI cannot be used: it wrote output without end."),
            (
                '[ "$1" = auth ] && exit 0; exec yes',
                "Cannot create a gist: it wrote output without end.",
            ),
            (
                '[ "$1" = auth ] && exit 0; printf "a\\033]0;x\\007\\nb\\233c" >&2; exit 1',
                "Cannot create a gist: a b\ufffdc",
            ),
            (
                f'[ "$1" = auth ] && exit 0; printf "https://g\\033]0;x\\007/ada/{ID}\\n"',
                "gh created a gist but did not say where it is.",
            ),
        ],
        keep=3,
    ),
)
async def test_errors_of_gh_are_reported(
    live: SessionLog,
    machine: ShareMachine,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    message: str,
) -> None:
    monkeypatch.setattr(share, "STALL_SECONDS", 0.3)
    machine.install("gh", f"#!/bin/sh\n{script}\n")

    with pytest.raises(ShareFailed) as caught:
        await share_session(live, cwd=machine.cwd, env=machine.env)

    assert caught.value.message == message
    assert list(machine.temporary.iterdir()) == []


async def test_a_share_without_a_temporary_folder_fails(
    live: SessionLog, machine: ShareMachine
) -> None:
    env = machine.env | {"TMPDIR": str(machine.cwd / "gone")}

    with pytest.raises(ShareFailed, match="Cannot create a temporary folder"):
        await share_session(live, cwd=machine.cwd, env=env)


async def test_cancelling_a_share_stops_the_upload_and_removes_its_files(
    live: SessionLog, machine: ShareMachine
) -> None:
    started = asyncio.Event()
    ended = asyncio.Event()

    async def handler(file: Path) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    task = asyncio.create_task(
        share_session(live, cwd=machine.cwd, env=machine.env, handler=handler)
    )
    async with asyncio.timeout(20):
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert ended.is_set()
    assert list(machine.temporary.iterdir()) == []


@pytest.mark.behaviour("import-never-overwrites")
async def test_a_session_without_a_file_is_not_shared(machine: ShareMachine) -> None:
    log = new_session(SessionLocation(None, "/home/ada", lambda _: None))
    log.append(message(user_message("hello")))

    with pytest.raises(ExportFailed, match="Cannot export in-memory session to HTML"):
        await share_session(log, cwd=machine.cwd, env=machine.env)
