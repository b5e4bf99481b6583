"""``pi relay serve`` ends in order."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

import aiohttp

from tests.relay.test_server import HOST, ROOM, closed


def test_sigterm_closes_all_sockets_and_ends() -> None:
    environ = {**os.environ, "RELAY_BIND": "0"}
    child = subprocess.Popen(
        [sys.executable, "-m", "pi", "relay", "serve"], env=environ, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        address = child.stdout.readline().decode().split()[-1]

        async def connect() -> int | None:
            async with (
                aiohttp.ClientSession(address) as client,
                client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as host,
                client.ws_connect(f"/r/{ROOM}") as guest,
            ):
                assert json.loads((await host.receive()).data)["type"] == "room-open"
                assert json.loads((await host.receive()).data)["peer"] == 1
                child.send_signal(signal.SIGTERM)
                codes = await asyncio.gather(closed(host), closed(guest))
                assert codes[0] == codes[1]
                return codes[0]

        assert asyncio.run(connect()) == 1012
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
