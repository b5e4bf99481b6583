from __future__ import annotations

from typing import cast

from pi.batteries.timebox.adapters.pi import MOST, AllowedCommands
from pi.batteries.timebox.core.timebox import FOREIGN
from pi.extension import Custom, ExtensionAPI
from tests.batteries.timebox.adapters.fake_pi import FakePi, stored_entry


def allowed_commands(pi: FakePi) -> AllowedCommands:
    return AllowedCommands(cast("ExtensionAPI", pi))


async def test_a_command_is_trusted_after_the_user_has_entered_it() -> None:
    pi = FakePi()
    assert not allowed_commands(pi).knows("lmk done")

    await allowed_commands(pi).remember("lmk done")

    assert allowed_commands(pi).knows("lmk done")
    assert not allowed_commands(pi).knows("lmk done; rm -r ~")
    assert "lmk" not in str(pi.stored)


async def test_only_the_newest_commands_are_remembered() -> None:
    pi = FakePi()

    for number in range(MOST + 1):
        await allowed_commands(pi).remember(f"lmk {number}")
        await allowed_commands(pi).remember("lmk always")

    assert not allowed_commands(pi).knows("lmk 0")
    assert allowed_commands(pi).knows("lmk always")
    assert allowed_commands(pi).knows(f"lmk {MOST}")


async def test_without_storage_no_command_is_trusted_and_no_error_is_raised() -> None:
    pi = FakePi(store_problem=True)

    await allowed_commands(pi).remember("lmk done")

    assert not allowed_commands(pi).knows("lmk done")


async def test_malformed_stored_commands_are_not_trusted() -> None:
    assert not allowed_commands(FakePi(stored={"on-stop-commands": "lmk done"})).knows("lmk done")


async def test_commands_of_foreign_sessions_do_not_run() -> None:
    custom_type, data = stored_entry(turnLimit=1, onStopCommand="rm -r ~")
    pi = FakePi(entries=[Custom(custom_type=custom_type, data=data)])

    await pi.start("resume")
    await pi.prompt()
    await pi.prompt()

    assert pi.notified[1] == ("warning", f"{FOREIGN} rm -r ~")
    assert pi.notified[2][0] == "error"
    assert pi.spawned == []
