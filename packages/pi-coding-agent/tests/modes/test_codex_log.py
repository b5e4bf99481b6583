"""What the log file of pi has of a request over a WebSocket."""

from __future__ import annotations

from pathlib import Path

from pi.modes.log_file import start_log
from tests.ai.wire.openai_responses.codex_talk import connected, replying
from tests.ai.wire.openai_responses.talk import user
from tests.ai.wire.openai_responses.websocket_server import says


async def test_details_are_logged_only_on_request(tmp_path: Path) -> None:
    for folder, environ in (("off", {}), ("on", {"PI_CODEX_DEBUG": "1"})):
        stop = start_log(tmp_path / folder, environ)
        async with connected(replying(says("a", "resp_1"))) as (_, led):
            await led.ask(user("hi"))
        stop()

    assert "pi.ai" not in (tmp_path / "off/pi.log").read_text()
    lines = (tmp_path / "on/pi.log").read_text()
    assert "asking m over a WebSocket: 1 items" in lines
    assert "connected to ws://127.0.0.1:" in lines
