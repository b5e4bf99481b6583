"""``pi`` in a terminal, with a home of its own and the mock server's models."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.terminal import Terminal, terminal
from pi.version import __version__

FRAME = "─".encode()
"""On the screen as soon as there is an editor."""
MODEL = rb"\(mock\) "
"""In the footer as soon as the model is known."""
READY = "]0;π".encode()
"""In the window title as soon as there is a session."""
_QUIT = b"\x04"
IDS = ("echo-20", "echo-5000@1000", "echo-5000", "echo-500@100")


def words(*arguments: str) -> list[str]:
    """The command that starts ``pi``."""
    return [str(Path(sys.executable).with_name("pi")), *arguments]


@contextmanager
def sitting(
    port: int, model: str, *arguments: str, has_run_before: bool = False
) -> Iterator[Terminal]:
    """A terminal in which ``pi`` was just started; leaving ends it.

    The first start in a new home fills caches; ``has_run_before`` makes this one the second.
    """
    with tempfile.TemporaryDirectory(prefix="pi-bench-") as folder:
        home = Path(folder)
        project = home / "project"
        project.mkdir()
        agent = home / ".pi" / "agent"
        agent.mkdir(parents=True)
        (agent / "models.json").write_text(json.dumps({"providers": {"mock": _provider(port)}}))
        (agent / "settings.json").write_text(json.dumps({"lastChangelogVersion": __version__}))
        command = words("--model", f"mock/{model}", *arguments)
        if has_run_before:
            with terminal(command, cwd=project, env=_environment(home)) as screen:
                screen.wait_for(READY)
                screen.watch(0.5)  # what is stored after the start
                screen.send(_QUIT)
                screen.finish()
        with terminal(command, cwd=project, env=_environment(home)) as screen:
            yield screen


def sitting_or_bare(where: str, script: str) -> AbstractContextManager[Terminal]:
    """A terminal with ``pi``, which has a port, or, if that is ``bare``, with a Python script."""
    if where == "bare":
        return terminal([sys.executable, "-c", script])
    return sitting(int(where), "echo-20", has_run_before=True)


def _provider(port: int) -> Mapping[str, object]:
    return {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": id} for id in IDS],
    }


def _environment(home: Path) -> Mapping[str, str]:
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PI_OFFLINE": "1",
    }
