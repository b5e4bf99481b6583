"""The extension whose answers one of the recordings shows, as far as the recording shows."""

from __future__ import annotations

from typing import Any

from pi.extension import (
    AssistantMessage,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    Text,
    replace,
)

SERVER = "http://127.0.0.1:18181"
MODEL = {
    "id": "em",
    "name": "EM",
    "reasoning": False,
    "input": ["text"],
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    "contextWindow": 1000,
    "maxTokens": 100,
}


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if isinstance(block, Text))


def extension(pi: ExtensionAPI) -> None:  # noqa: C901 - all that a recording shows
    config = {
        "base_url": f"{SERVER}/v1",
        "api": "openai-completions",
        "api_key": "key",
        "models": [MODEL],
    }
    pi.register_provider("extprov", config)

    @pi.on("input")
    def arguments_of(event: Any, ctx: ExtensionContext) -> Any:
        match event.text:
            case "xform":
                return {"action": "transform", "text": "TRANSFORMED"}
            case "handled":
                return {"action": "handled"}
        return None

    @pi.on("tool_call")
    async def guard(event: Any, ctx: ExtensionContext) -> Any:
        match event.input.get("command"):
            case "blockme":
                return {"block": True, "reason": "not allowed here"}
            case "blocknr":
                return {"block": True}
            case "mut":
                event.input["command"] = "echo mutated"
            case "thr":
                raise RuntimeError("handler exploded")
        return None

    @pi.on("tool_result")
    def override(event: Any, ctx: ExtensionContext) -> Any:
        if event.input.get("command") != "echo over":
            return None
        return {"content": [Text(text="OVERRIDDEN")], "details": {"z": 1}, "is_error": True}

    @pi.on("before_agent_start")
    async def start(event: Any, ctx: ExtensionContext) -> Any:
        match event.prompt:
            case "inject":
                message = {
                    "custom_type": "inj",
                    "content": "injected ctx",
                    "display": True,
                    "details": {"a": 1},
                }
                return {"message": message}
            case "force":
                return {"system_prompt": "forced"}
            case "sect":
                event.system_prompt_options.sections["mysec"] = "custom section"
        return None

    @pi.on("message_end")
    def reword(event: Any, ctx: ExtensionContext) -> Any:
        message = event.message
        if not isinstance(message, AssistantMessage) or text_of(message) != "replace me":
            return None
        return {"message": replace(message, content=(Text(text="REPLACED"),))}

    @pi.on("turn_end")
    def boundary(event: Any, ctx: ExtensionContext) -> Any:
        if text_of(event.message) != "tend":
            return None
        entries = [
            {
                "type": "custom_message",
                "customType": "bd",
                "content": "boundary msg",
                "display": True,
            },
            {"type": "custom", "customType": "bdc", "data": 1},
        ]
        return {"entries": entries, "continue": True}

    once: list[bool] = []

    @pi.on("agent_before_settle")
    def settle(event: Any, ctx: ExtensionContext) -> Any:
        last = event.context.context_messages[-1]
        if text_of(last) != "p" or once:
            return None
        once.append(True)
        entry = {
            "type": "custom_message",
            "customType": "ps",
            "content": "one more",
            "display": False,
        }
        return {"entries": [entry], "continue": True}

    @pi.command("next")
    async def aside(args: str, ctx: CommandContext) -> None:
        message = {"custom_type": "nt", "content": "aside", "display": True}
        await pi.send_message(message, deliver_as="next_turn")

    @pi.on("user_bash")
    def fake(event: Any, ctx: ExtensionContext) -> Any:
        if event.command != "fake":
            return None
        return {"result": {"output": "faked", "exit_code": 0}}

    @pi.on("session_before_switch")
    def stay(event: Any, ctx: ExtensionContext) -> Any:
        return {"cancel": True} if event.target_session_file == "/cancel.jsonl" else None
