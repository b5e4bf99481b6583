"""Sessions of one process share servers, unless the setting says otherwise."""

from __future__ import annotations

from pathlib import Path

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.host import SHARED
from pi.coding.port.results import SubSession
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import edit, lsp, lsp_session, write
from tests.batteries.lsp.test_faults import servers_running
from tests.modes.pipes import until

pytestmark = needs_posix_shell

ON = {"shared": True}


async def test_two_sessions_of_a_project_use_one_server(tmp_path: Path) -> None:
    steps = (write("a.demo", "BAD\n"), says("."))
    async with lsp_session(tmp_path, *steps, settings=ON, real_time=True) as one:
        await one.run()
        [first] = servers_running(one)
        async with lsp_session(tmp_path, *steps, settings=ON, real_time=True) as other:
            assert "1 error (demo)" in (await other.run())[0]
            assert servers_running(one) == [first]
        assert servers_running(one) == [first]
    await SHARED.close()  # as at the end of the program

    assert servers_running(one) == []


async def test_sessions_without_sharing_start_separate_servers(tmp_path: Path) -> None:
    steps = (write("a.demo", "BAD\n"), says("."))
    async with lsp_session(tmp_path, *steps, real_time=True) as one:
        await one.run()
        async with lsp_session(tmp_path, *steps, real_time=True) as other:
            await other.run()
            assert len(servers_running(one)) == 2
        await until(lambda: len(servers_running(one)) == 1)


async def test_a_command_of_one_session_is_noticed_by_the_other(tmp_path: Path) -> None:
    steps = (write("a.demo", "good\n"), says("."), lsp("diagnostics", file="a.demo"), says("."))
    command = (calls("bash", command="echo BAD > b.part"), says("."))
    async with lsp_session(tmp_path, *steps, settings=ON, real_time=True) as one:
        await one.run()
        async with lsp_session(tmp_path, *command, settings=ON, real_time=True) as other:
            await other.run()
        *_, found = await one.run()
    await SHARED.close()

    assert "1 warning (demo)" in found


async def test_a_sub_session_uses_the_servers_of_its_parent_and_reports_once(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    steps = (
        *(write("a.demo", "good\n"), says(".")),
        *(write("b.demo", "BAD\n"), edit("b.demo", "BAD", "good"), says("done")),
    )
    async with lsp_session(
        tmp_path, *steps, settings=ON, beside=(apis.append,), real_time=True
    ) as parent:
        await parent.run()
        [first] = servers_running(parent)
        handle = await apis[0].sub_session(SubSession(prompt="work", extensions="all"))
        await handle.result()
        found = [
            "\n".join(part.text for part in message.content if isinstance(part, Text))
            for message in handle.messages
            if isinstance(message, ToolResultMessage)
        ]
        assert servers_running(parent) == [first]
        assert parent.failures == []
    await SHARED.close()

    assert found == [
        "Successfully wrote to b.demo\n"
        "Diagnostics of b.demo: 1 error (demo)\n1:1 error: bad word [demo B1]",
        "Successfully replaced 1 block(s) in b.demo.\nDiagnostics of b.demo: no problems (demo).",
    ]
