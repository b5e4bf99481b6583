"""The RPC commands: one handler per command.

Every handler gets the session and the request; its return value is the response's ``data``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from msgspec import UNSET, UnsetType

from pi.ai.models.model import without_credentials
from pi.base.records import replace
from pi.coding.session.entries import CompactionSummaryMessage
from pi.coding.settings.values import InterruptMode
from pi.modes.rpc.protocol import Request

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort

Handler: TypeAlias = "Callable[[SessionPort, Request], Awaitable[Any]]"

COMMANDS: dict[str, Handler] = {}
"""Handlers by command. The server handles ``prompt``, ``abort_and_prompt`` and ``bash``."""

LONG = frozenset({"prompt", "abort_and_prompt", "abort", "bash", "compact"})
"""Commands that wait for a model or a program."""

PROMPTING = frozenset({"prompt", "abort_and_prompt"})
"""Commands that start a run."""

REPLACING = frozenset({"new_session", "switch_session", "fork", "clone"})
"""Commands that switch the session: they run one at a time."""


def _command(*names: str) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        COMMANDS.update(dict.fromkeys(names, handler))
        return handler

    return add


# Prompts and queues -------------------------------------------------------------------------------


@_command("steer")
async def _steer(port: SessionPort, request: Request) -> Any:
    text, images = request.text("message"), request.images()
    return {"disposition": await port.prompts.steer(text, images, source="rpc")}


@_command("follow_up")
async def _follow_up(port: SessionPort, request: Request) -> Any:
    text, images = request.text("message"), request.images()
    return {"disposition": await port.prompts.follow_up(text, images, source="rpc")}


@_command("abort")
async def _abort(port: SessionPort, request: Request) -> Any:
    await port.abort()
    return UNSET


@_command("clear_queue")
async def _clear_queue(port: SessionPort, request: Request) -> Any:
    return await port.prompts.clear_queue()


@_command("set_steering_mode")
async def _steering_mode(port: SessionPort, request: Request) -> Any:
    port.settings.override({"steeringMode": request.text("mode")})
    return UNSET


@_command("set_follow_up_mode")
async def _follow_up_mode(port: SessionPort, request: Request) -> Any:
    port.settings.override({"followUpMode": request.text("mode")})
    return UNSET


@_command("set_interrupt_mode")
async def _interrupt_mode(port: SessionPort, request: Request) -> Any:
    mode = request.choice("mode", get_args(InterruptMode))
    port.settings.override({"interruptMode": mode})
    return UNSET


# The model ----------------------------------------------------------------------------------------


@_command("set_model")
async def _set_model(port: SessionPort, request: Request) -> Any:
    model = await port.models.select_id(request.text("provider"), request.text("modelId"))
    return without_credentials(model)


@_command("cycle_model")
async def _cycle_model(port: SessionPort, request: Request) -> Any:
    cycled = await port.models.cycle()
    return cycled and replace(cycled, model=without_credentials(cycled.model))


@_command("get_available_models")
async def _available_models(port: SessionPort, request: Request) -> Any:
    await port.models.discover()
    return {
        "models": [without_credentials(model) for model in port.models.registry.get_available()]
    }


@_command("set_thinking_level")
async def _set_thinking_level(port: SessionPort, request: Request) -> Any:
    await port.models.set_thinking_level(request.text("level"))
    return UNSET


@_command("cycle_thinking_level")
async def _cycle_thinking_level(port: SessionPort, request: Request) -> Any:
    level = await port.models.cycle_thinking()
    return None if level is None else {"level": level}


@_command("get_available_thinking_levels")
async def _thinking_levels(port: SessionPort, request: Request) -> Any:
    return {"levels": port.models.levels()}


# Compaction and retry -----------------------------------------------------------------------------


@_command("compact")
async def _compact(port: SessionPort, request: Request) -> Any:
    instructions = request.optional_text("customInstructions") or ""
    strategy = request.optional_text("strategy") or ""
    return await port.compaction.compact(instructions, strategy=strategy)


@_command("preview_compaction")
async def _preview_compaction(port: SessionPort, request: Request) -> Any:
    return await port.compaction.preview(strategy=request.optional_text("strategy") or "")


@_command("set_auto_compaction")
async def _auto_compaction(port: SessionPort, request: Request) -> Any:
    port.settings.override({"compaction.enabled": request.flag("enabled")})
    return UNSET


@_command("set_auto_retry")
async def _auto_retry(port: SessionPort, request: Request) -> Any:
    port.settings.override({"retry.enabled": request.flag("enabled")})
    return UNSET


@_command("abort_retry")
async def _abort_retry(port: SessionPort, request: Request) -> Any:
    await port.retry.cancel()
    return UNSET


@_command("abort_bash")
async def _abort_bash(port: SessionPort, request: Request) -> Any:
    port.shell.stop()
    return UNSET


# Sessions -----------------------------------------------------------------------------------------


@_command("new_session")
async def _new_session(port: SessionPort, request: Request) -> Any:
    return await port.sessions.new(request.optional_text("parentSession"))


@_command("switch_session")
async def _switch_session(port: SessionPort, request: Request) -> Any:
    return await port.sessions.switch(Path(request.text("sessionPath")))


@_command("fork")
async def _fork(port: SessionPort, request: Request) -> Any:
    return await port.sessions.fork(request.text("entryId"))


@_command("branch")
async def _branch(port: SessionPort, request: Request) -> Any:
    return await port.tree.go_to(request.text("entryId"))


@_command("clone")
async def _clone(port: SessionPort, request: Request) -> Any:
    return await port.sessions.clone()


@_command("set_session_name")
async def _set_session_name(port: SessionPort, request: Request) -> Any:
    await port.info.rename(request.text("name"))
    return UNSET


@_command("export_html")
async def _export_html(port: SessionPort, request: Request) -> Any:
    path = await port.exports.write(request.optional_text("outputPath"))
    return {"path": str(path)}


# Queries ------------------------------------------------------------------------------------------


@_command("get_state")
async def _state(port: SessionPort, request: Request) -> Any:
    state = port.info.state()
    if not isinstance(state.model, UnsetType):
        state = replace(state, model=without_credentials(state.model))
    return state


def _without_pictures(message: Any) -> Any:
    """Remove the pictures that a compaction sends to the model: they would be megabytes."""
    if isinstance(message, CompactionSummaryMessage):
        return replace(message, content=UNSET)
    return message


@_command("get_messages")
async def _messages(port: SessionPort, request: Request) -> Any:
    return {"messages": [_without_pictures(message) for message in port.info.messages_json()]}


@_command("get_session_stats")
async def _stats(port: SessionPort, request: Request) -> Any:
    return port.info.stats()


@_command("get_fork_messages", "get_branch_messages")
async def _fork_messages(port: SessionPort, request: Request) -> Any:
    await port.info.read_history()
    return {"messages": port.info.fork_points()}


@_command("get_entries")
async def _entries(port: SessionPort, request: Request) -> Any:
    await port.info.read_history()
    entries = port.info.entries(request.optional_text("since"))
    return {"entries": entries, "leafId": port.entries.log.leaf_id}


@_command("get_tree")
async def _tree(port: SessionPort, request: Request) -> Any:
    await port.info.read_history()
    return {"tree": port.info.tree_json(), "leafId": port.entries.log.leaf_id}


@_command("get_last_assistant_text")
async def _last_answer(port: SessionPort, request: Request) -> Any:
    text = port.info.last_answer()
    return {} if text is None else {"text": text}


@_command("get_commands")
async def _commands(port: SessionPort, request: Request) -> Any:
    return {"commands": port.info.commands()}


@_command("get_extensions")
async def _extensions(port: SessionPort, request: Request) -> Any:
    return {"extensions": port.extensions.switches.rows()}


@_command("set_extension")
async def _set_extension(port: SessionPort, request: Request) -> Any:
    from pi.coding.extension_host.switches import find_row  # lazy: few clients switch extensions

    switches, name = port.extensions.switches, request.text("name")
    message = await switches.switch(
        name,
        on=request.flag("enabled"),
        value=request.fields.get("value"),
        keep=request.optional_flag("keep"),
    )
    return {"message": message, "extension": find_row(switches.rows(), name)}
