"""Resumes a session with ``pi -p``: ``resuming KIND MESSAGES PORT``.

``new`` is a new session, ``all`` has every message in the context, ``compacted`` the last 20;
``first`` is the same without an index, as a file of another program. Prints CPU milliseconds of
the process and its peak memory in MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from bench.programs.session.sample import messages
from pi.base.json_lines import encode_line

TIME = '"timestamp":"2026-11-01T00:00:00.000Z"'
POOL = 400
KEPT = 20


def write_session(path: Path, cwd: Path, count: int, *, compacted: bool) -> None:
    """Write a session of ``count`` messages of about 1 KB."""
    pool = [encode_line(message).decode().rstrip() for message in islice(messages(), POOL)]
    with path.open("w", encoding="utf-8") as file:
        header = {"type": "session", "version": 3, "id": "0199-bench", "cwd": str(cwd)}
        file.write(json.dumps(header) + "\n")
        parent = "null"
        for number in range(count):
            message = pool[number % POOL].replace("call_1", f"call_{number // 4}")
            id = f'"{number:08x}"'
            file.write(
                f'{{"type":"message","id":{id},"parentId":{parent},{TIME},"message":{message}}}\n'
            )
            parent = id
        if compacted:
            file.write(
                f'{{"type":"compaction","id":"ffffffff","parentId":{parent},{TIME},"summary":"S",'
                f'"firstKeptEntryId":"{count - KEPT:08x}","tokensBefore":1000}}\n'
            )


def main(kind: str, count: int, port: str) -> None:
    """Print the best of some rounds; of the first start there is one."""
    with TemporaryDirectory() as name:
        home = Path(name)
        agent_dir, work = home / ".pi" / "agent", home / "work"
        agent_dir.mkdir(parents=True)
        work.mkdir()
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "echo-20", "contextWindow": 1_000_000_000}],
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
        arguments = ["-p", "--model", "mock/echo-20", "hi"]
        _run(home, work, ["--no-session", *arguments])
        if kind == "new":
            rounds = [_run(home, work, ["--no-session", *arguments]) for _ in range(3)]
        else:
            file = home / "session.jsonl"
            write_session(file, work, count, compacted=kind != "all")
            resume = ["--session", str(file), *arguments]
            rounds = [_run(home, work, resume)]
            if kind != "first":
                rounds = [_run(home, work, resume) for _ in range(3)]
        rmtree(agent_dir)
    print(*map(min, zip(*rounds, strict=True)))


def _run(home: Path, work: Path, arguments: list[str]) -> tuple[float, float]:
    process = subprocess.Popen(
        [sys.executable, "-m", "pi", *arguments],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PI_OFFLINE": "1", "PI_NO_LOCAL": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit("pi failed")
    return (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
