from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.workspace import below_pi, source_files

ALLOWED: dict[str, str] = {
    "batteries/python_kernel/prelude.py": "runs in a kernel, which pi has started as a child"
}
"""Modules outside ``base/processes`` that start a program themselves, each with the reason."""

MODULES = {"subprocess", "multiprocessing", "pty", "webbrowser", "_posixsubprocess"}
OF_OS = ("exec", "spawn", "posix_spawn", "fork", "system", "popen", "startfile")
OTHERS = {
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
    "ProcessPoolExecutor",
}

SUSPICIOUS = re.compile(
    rf"\b(?:{'|'.join((*MODULES, *OTHERS))})\b|\bos\.(?:{'|'.join(OF_OS)})|from os import"
)
"""A module without any of these starts no program, so it need not be parsed."""


def spawning(tree: ast.AST) -> Iterator[str]:
    """Yield the names in a module that can start a program."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module="os", names=names):
                yield from (each.name for each in names if each.name.startswith(OF_OS))
            case ast.ImportFrom(module=str(module), names=names):
                imported = {module, *(f"{module}.{each.name}" for each in names)}
                yield from (
                    name
                    for name in sorted(imported)
                    if name.split(".")[0] in MODULES
                    or name == "asyncio.subprocess"
                    or name.rpartition(".")[2] in OTHERS
                )
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(OF_OS):
                yield f"os.{name}"
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="subprocess"):
                yield "asyncio.subprocess"
            case ast.Attribute(attr=name) if name in OTHERS:
                yield name
            case _:
                pass


def test_only_base_processes_starts_programs(root: Path) -> None:
    found = {
        below_pi(path).as_posix(): names
        for path in source_files(root)
        if not below_pi(path).is_relative_to("base/processes")
        and SUSPICIOUS.search(text := path.read_text(encoding="utf-8"))
        and (names := list(spawning(ast.parse(text))))
    }

    assert {path: names for path, names in found.items() if path not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "an exception that is no longer needed"


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess",
        "import os, subprocess as s",
        "def f():\n    from subprocess import run",
        "import multiprocessing.pool",
        "from asyncio import subprocess",
        "from asyncio import create_subprocess_exec",
        "from concurrent.futures import ProcessPoolExecutor",
        "from os import execvp",
        "import os\nos.execvp('x', [])",
        "import os\nos.spawnlp(0, 'x')",
        "import os\nos.posix_spawnp('x', [], {})",
        "import os\nos.fork()",
        "import os\nos.system('x')",
        "import asyncio\nasyncio.create_subprocess_shell('x')",
        "import asyncio\nasyncio.subprocess",
        "loop.subprocess_exec(x)",
    ],
)
def test_every_way_to_start_a_program_is_known(code: str) -> None:
    assert SUSPICIOUS.search(code)
    assert list(spawning(ast.parse(code)))


def test_code_that_starts_no_program_is_not_reported() -> None:
    code = "import os\nfrom asyncio import run\nos.path\nos.environ\nself.spawn(x)\nexec('x')"

    assert not list(spawning(ast.parse(code)))
