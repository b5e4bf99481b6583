"""Unknown options and values are refused with a suggestion; none is silently ignored."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi.agent.tools.define import make_tool
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.results import SubSession
from tests.coding.extension_host.extension_session import extension_session

Call = Callable[[Any], Any]


async def _act(*arguments: Any) -> Any:
    return arguments


def _tool(**how: Any) -> Any:
    return make_tool(name="act", description="acts", params=dict[str, str], run=_act, **how)


AT_LOAD: dict[str, Call] = {
    "exposure": lambda pi: pi.add_tool(_tool(), exposure="hiden"),
    "prompt_snippet": lambda pi: pi.add_tool(_tool(), prompt_snipet="acts"),
    "read": lambda pi: pi.add_tool(_tool(approval="red")),
    "description": lambda pi: pi.register_command("act", _act, descripton="acts"),
    "type": lambda pi: pi.register_flag("act", typ="string"),
    "first": lambda pi: pi.on("session_start", _act, at="frist"),
    "last": lambda pi: pi.wrap_spawn(_act, at="lst"),
    "turn": lambda pi: pi.wrap_model(_act, purposes=frozenset({"tunr"})),
    "['read']": lambda pi: pi.limit_tools("read"),
    "['write']": lambda pi: pi.enable_tools("write"),
}
IN_SESSION: dict[str, Call] = {
    "allow_address": lambda pi: pi.http.request("http://127.0.0.1:9/", allow_adress=None),
    "export": lambda pi: pi.context.export("text", "exprt"),
    "session": lambda pi: pi.store("sesion"),
    "high": lambda pi: pi.set_thinking_level("hgh"),
    "low": lambda pi: pi.sub_session(SubSession(prompt="x", thinking="lwo")),  # type: ignore[arg-type]
    "medium": lambda pi: pi.models.use(pi.context.model, "medum"),
    "before": lambda pi: _control(pi).fork("x", position="befor"),
    "summarize": lambda pi: _control(pi).navigate_tree("x", sumarize=True),
    "['edit']": lambda pi: pi.set_active_tools("edit"),
}


def _control(pi: ExtensionAPI) -> Any:
    return pi._instance.command_context


async def _refusal(call: Call, pi: ExtensionAPI) -> str:
    try:
        result = call(pi)
        if inspect.isawaitable(result):
            await result
    except ExtensionError as error:
        return f"{error} {error.hint}"
    return "accepted"


async def test_an_unknown_value_is_refused_with_a_suggestion(
    tmp_path: Path,
) -> None:
    refused: dict[str, str] = {}
    apis: list[ExtensionAPI] = []

    async def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        refused.update(
            {suggestion: await _refusal(call, pi) for suggestion, call in AT_LOAD.items()}
        )

    async with extension_session(tmp_path, extension):
        refused.update(
            {suggestion: await _refusal(call, apis[0]) for suggestion, call in IN_SESSION.items()}
        )

    assert len(refused) == len(AT_LOAD) + len(IN_SESSION)
    assert [suggestion for suggestion, text in refused.items() if f"{suggestion}" not in text] == []
    assert [suggestion for suggestion, text in refused.items() if "is not a" not in text] == []
