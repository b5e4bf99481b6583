"""Starts ``pi -p`` and prints the milliseconds until it has ended: ``starting KIND PORT``.

``none`` has no MCP configuration, ``new`` one server on pipes whose tools are not known, ``known``
the same server in its second session.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

SERVER = Path(__file__).with_name("echo_server.py")
ROUNDS = 5


def main(kind: str, port: str) -> None:
    """Print the best of some rounds."""
    with TemporaryDirectory() as name:
        home = Path(name)
        agent_dir, work = home / ".pi" / "agent", home / "work"
        agent_dir.mkdir(parents=True)
        work.mkdir()
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "echo-1"}],
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
        if kind in ("new", "known"):
            server = {"command": sys.executable, "args": ["-I", str(SERVER), "5"]}
            (agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
        times = []
        for _ in range(ROUNDS + 1):
            if kind == "new":
                (agent_dir / "extension-data" / "mcp" / "global.json").unlink(missing_ok=True)
            times.append(_run(home, work))
    print(min(times[1:]))


def _run(home: Path, work: Path) -> float:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pi", "-p", "--model", "mock/echo-1", "--no-session", "hi"],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PI_OFFLINE": "1", "PI_NO_LOCAL": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.perf_counter() - begin) * 1000


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
