"""Previews and their resolution in the real program: JSON mode, and a resumed session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.program import Program
from tests.sampling import sampled
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1")
ON = {"retry": {"enabled": False}, "astTools": {"enabled": True}}
EDIT = ("ast_edit", {"ops": [{"pattern": "foo($X)", "rewrite": "bar($X)"}]})
APPLY = ("resolve", {"action": "apply", "reason": "right"})


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    pytest.importorskip("ast_grep_py", reason="ast-grep-py is not installed")
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    (program.cwd / "a.py").write_text("foo(1)\n")
    return program


def tools(model: LoopbackModel, number: int = 0) -> list[str]:
    return [tool["function"]["name"] for tool in json.loads(model.requests[number])["tools"]]


def ends(cli: Program, *arguments: str) -> list[Any]:
    ended = cli.run(*MODEL, "--mode", "json", *arguments, "go")
    events = [json.loads(line) for line in ended.out.splitlines()]
    return [event for event in events if event["type"] == "tool_execution_end"]


def test_resolve_is_not_declared_without_a_tool_that_previews(
    cli: Program, model: LoopbackModel
) -> None:
    cli.run(*MODEL, "-p", "hello")

    assert tools(model) == ["read", "bash", "edit", "write"]


@pytest.mark.parametrize(
    ("words", "settings", "declared"),
    sampled(
        [
            (("--tools", "ast_grep"), {}, ["ast_grep"]),
            (("--tools", "ast_edit"), {}, ["ast_edit", "resolve"]),
            (("--tools", "ast_grep"), ON, ["ast_grep"]),
            ((), {"defaultTools": ["read", "ast_grep"]}, ["read", "ast_grep"]),
            ((), {"defaultTools": ["read", "ast_edit"]}, ["read", "ast_edit", "resolve"]),
        ],
        keep=2,
    ),
)
def test_resolve_is_declared_only_beside_a_tool_that_previews(
    cli: Program,
    model: LoopbackModel,
    words: tuple[str, ...],
    settings: dict[str, Any],
    declared: list[str],
) -> None:
    cli.write("settings.json", json.dumps(settings))

    cli.run(*MODEL, *words, "-p", "hello")

    assert tools(model) == declared


def test_a_preview_is_applied_with_details(cli: Program, model: LoopbackModel) -> None:
    cli.write("settings.json", json.dumps(ON))
    model.tools = [EDIT, APPLY]

    previewed, applied = ends(cli)

    assert {"resolve", "ast_grep", "ast_edit"} < {*tools(model)}
    assert tools(model) == tools(model, 2)  # the prompt cache holds
    choices = [json.loads(request).get("tool_choice") for request in model.requests]
    assert choices == [None, {"type": "function", "function": {"name": "resolve"}}, None]
    assert previewed["result"]["details"]["pending"] is True
    assert applied["result"]["details"]["label"] == "1 replacement in 1 file"
    assert (cli.cwd / "a.py").read_text() == "bar(1)\n"


@pytest.mark.full
def test_a_preview_is_not_kept_when_the_program_ends(cli: Program, model: LoopbackModel) -> None:
    cli.write("settings.json", json.dumps(ON))
    model.tools = [EDIT]
    ends(cli)
    model.tools = [APPLY]

    (failed,) = ends(cli, "--continue")

    assert failed["isError"]
    text = failed["result"]["content"][0]["text"]
    assert "this preview is gone: 1 replacement in 1 file. Nothing was changed." in text
    assert (cli.cwd / "a.py").read_text() == "foo(1)\n"
