from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.loaded_extension import decorator
from pi.coding.extension_host.errors import ExtensionError
from tests.coding.extension_host.extension_session import extension_session


def test_the_first_line_of_a_docstring_is_the_description() -> None:
    def documented() -> None:
        """Do it.

        Carefully.
        """

    seen: list[str] = []
    for function in (documented, lambda: None):
        decorator(lambda _, text: seen.append(text))(function)
    assert seen == ["Do it", ""]


async def test_a_command_with_an_invalid_name_or_signature_is_refused(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        refused: tuple[tuple[str, Any], ...] = (
            ("a b", print),
            ("", print),
            ("x", lambda args: None),
        )
        for name, handler in refused:
            with pytest.raises(ExtensionError) as failed:
                pi.register_command(name, handler)
            problems.append(failed.value.message)

    async with extension_session(tmp_path, extension):
        pass
    assert problems[:2] == ["A command cannot be called 'a b'.", "A command cannot be called ''."]
    assert problems[2].startswith("The command /x takes its arguments and a context")


async def test_a_command_completes_its_arguments(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        async def cities(prefix: str) -> list[str]:
            return [city for city in ("Berlin", "Bern") if city.startswith(prefix)]

        @pi.command("go", completions=cities)
        def go(args: str, ctx: Any) -> None:
            """Go there."""

        pi.command("stay")(lambda args, ctx: None)

    async with extension_session(tmp_path, extension) as hosted:
        complete = hosted.session.extensions.completions
        assert await complete("go", "Berl") == ["Berlin"]
        assert [await complete("stay", ""), await complete("nope", "")] == [(), ()]
        listed = {command.name: command.description for command in hosted.session.info.commands()}
        assert listed == {"go": "Go there", "stay": UNSET}


async def test_removed_registrations_no_longer_apply(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        for registration in (
            pi.register_command("x", lambda args, ctx: None),
            pi.register_flag("x"),
            pi.register_shortcut("x", lambda ctx: None),
            pi.add_section("x", "y"),
            pi.provide("x", 1),
            pi.on("input", lambda event, ctx: None),
            pi.events.on("x", lambda data: None),
        ):
            registration.remove()

        assert hosted.session.info.commands() == []
        assert (pi.get_flag("x"), pi.service("x"), hosted.host.contributed.sections()) == (
            None,
            None,
            {},
        )


async def test_shared_returns_the_created_object(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis

        async def make(scope: Any) -> str:
            return "made"

        assert await pi.shared(("test", tmp_path), make) == "made"
