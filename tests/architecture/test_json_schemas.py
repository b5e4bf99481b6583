"""The published schemas accept what pi reads, and name what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolFailed
from pi.modes.interactive.theme_selector import BUILT_IN, themes_in
from tests.json_schemas import FOLDER

SCHEMA = {"$schema": "https://example.com/schema.json"}


def checker(name: str) -> AgentTool:
    async def nothing(arguments: Any, ctx: Any) -> None: ...

    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return make_tool(name=name, description="", params=schema, run=nothing)


THEME = json.loads((BUILT_IN / "dark.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", themes_in(BUILT_IN), ids=lambda path: path.stem)
def test_the_built_in_themes_fit_their_schema(path: Any) -> None:
    checker("theme").validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("settings", {"theme": "system", "quietStartup": "header", "defaultTools": ["+grep"]}),
        ("settings", {"httpIdleTimeoutMs": "disabled", "compaction": {"reserveTokens": 5}}),
        ("settings", {"tui": {"statusEngine": {"items": ["model"]}}, "ours": {"of": "extensions"}}),
        ("keybindings", {"app.model.select": ["ctrl+l", "f2"], "tui.input.submit": "enter"}),
        ("mcp", {"mcpServers": {"a": {"command": "x", "exposure": "codemode", "timeout": 60}}}),
        (
            "models",
            {
                "providers": {
                    "p": {
                        "baseUrl": "http://127.0.0.1/v1",
                        "compat": {"supportsStore": False, "thinkingFormat": "qwen"},
                        "models": [{"id": "m", "cost": {"input": 1}, "contextWindow": 5}],
                    }
                }
            },
        ),
        ("theme", THEME),
    ],
)
def test_documents_that_pi_reads_are_accepted(name: str, document: dict[str, Any]) -> None:
    checker(name).validate({**SCHEMA, **document})


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("settings", {"quietStartup": "loud"}),
        ("settings", {"httpIdleTimeoutMs": "soon"}),
        ("settings", {"compaction": {"reserveTokens": -1}}),
        ("keybindings", {"app.model.select": {"key": "x"}}),
        ("mcp", {"mcpServers": {"a": {"exposure": "open"}}}),
        ("models", {"providers": {"p": {"models": [{"name": "without id"}]}}}),
        ("models", {"providers": {"p": {"compat": {"thinkingFormat": "none"}}}}),
        ("theme", {**THEME, "appearance": "grey"}),
    ],
)
def test_documents_that_pi_refuses_are_refused(name: str, document: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed):
        checker(name).validate({**SCHEMA, **document})
