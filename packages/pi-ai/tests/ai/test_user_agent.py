from __future__ import annotations

import re

import pytest

from pi.ai.http.user_agent import describe, user_agent


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (("linux", "6.18.44", "x86_64"), "pi (linux 6.18.44; x64)"),
        (("darwin", "25.1.0", "arm64"), "pi (darwin 25.1.0; arm64)"),
        (("win32", "10.0.26100", "AMD64"), "pi (win32 10.0.26100; x64)"),
        (("linux", "6.1", "aarch64"), "pi (linux 6.1; arm64)"),
        (("linux", "6.1", "i686"), "pi (linux 6.1; ia32)"),
        (("linux", "6.1", "riscv64"), "pi (linux 6.1; riscv64)"),
    ],
)
def test_the_user_agent_contains_common_platform_and_architecture_names(
    machine: tuple[str, str, str], expected: str
) -> None:
    assert describe(*machine) == expected


def test_invalid_header_characters_of_a_release_are_removed() -> None:
    assert describe("linux", "6.1-größe\r\nx: y", "x86_64") == "pi (linux 6.1-grex: y; x64)"


def test_the_user_agent_of_this_machine_is_cached() -> None:
    assert re.fullmatch(r"pi \(\w+ \S+; \w+\)", user_agent())
    assert user_agent() is user_agent()
