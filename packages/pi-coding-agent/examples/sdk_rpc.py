"""Run an agent in a child process. Runs offline."""

import asyncio

from pi.sdk import MessageUpdate, RpcClient, RpcServerDied, TextDelta


async def main() -> None:
    async with RpcClient.started("--model", "demo/tour", "--no-tools", "--no-session") as client:
        words = ""
        async for event in client.ask("Show me around."):
            match event:
                case MessageUpdate(assistant_message_event=TextDelta(delta=delta)):
                    words += delta
        print(f"{len(words.split()) > 10} {words == await client.last_answer()}")
        print((await client.bash("echo from a shell")).output, end="")

    try:
        async with RpcClient.started("--model", "unknown/model"):
            pass
    except RpcServerDied as died:
        print(f"{died.message} {died.hint}")


asyncio.run(main())
