"""Many sessions in the folders of fifty projects, each a short conversation of 20 KB."""

from __future__ import annotations

from pathlib import Path

from bench.programs.session.sample import make_session
from pi.base.json_lines import encode_line
from pi.coding.session.entries import SESSION_VERSION, SessionHeader
from pi.coding.session.writing import file_name, session_directory

PROJECTS = 50
ENTRIES = 20
STARTED = "2026-11-15T19:23:06.927Z"


def make_sessions(agent_dir: Path, count: int) -> list[Path]:
    """That many session files in an agent's directory."""
    _, _, talk = make_session(agent_dir, ENTRIES).read_bytes().partition(b"\n")
    paths = []
    for number in range(count):
        cwd, id = f"/somewhere/project{number % PROJECTS}", f"{number:08x}"
        path = session_directory(agent_dir, cwd) / file_name(STARTED, id)
        header = SessionHeader(version=SESSION_VERSION, id=id, timestamp=STARTED, cwd=cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_line(header) + talk)
        paths.append(path)
    return paths
