from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import unsupported_api
from pi.coding.extension_host.discovery.manifest import (
    SUPPORTED_APIS,
    Manifest,
    ToolManifest,
    read_manifest,
)
from pi.coding.extension_host.errors import ExtensionError

BLOCK = """\
# /// pi
# name = "weather"
# activate = ["command:weather"]
# commands = { weather = "show the weather" }
#
# [flags.units]
# type = "string"
# ///
raise RuntimeError("a manifest is read, never run")
"""


def test_the_manifest_of_a_file_is_read_from_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "weather.py"
    path.write_text(BLOCK)

    manifest = read_manifest(path)

    assert manifest == Manifest(
        name="weather",
        activate=("command:weather",),
        commands={"weather": "show the weather"},
        flags={"units": {"type": "string"}},
    )
    assert manifest.triggers("command") == ("weather",)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match=r"gone\.py cannot be read: No such file"):
        read_manifest(tmp_path / "gone.py")


def test_a_command_name_with_a_slash_keeps_its_description() -> None:
    manifest = Manifest(commands={"nap": "rest"}, activate=("command:/nap", "command:doze"))

    assert manifest.declared_commands() == {"nap": "rest", "doze": ""}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pi.toml", 'activate = ["event:input"]'),
        ("pyproject.toml", '[tool.pi]\nactivate = ["event:input"]'),
    ],
)
def test_the_manifest_of_a_folder_is_read_from_a_toml_file(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)

    assert read_manifest(tmp_path) == Manifest(activate=("event:input",))


def test_without_a_manifest_the_default_manifest_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("def extension(pi): ...\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")

    assert read_manifest(path) == read_manifest(tmp_path) == Manifest()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("activate = [", "is not valid TOML"),
        ("a." * 200_000 + "b = 1", "is not valid TOML: a key has more than 64 parts"),
        ("api = " + "1" * 5000, "is not valid TOML: Exceeds the limit"),
        ("activate = 3", "is invalid"),
        ('activate = ["tuesday"]', "Unknown trigger 'tuesday'"),
        ('activate = ["command:"]', "Unknown trigger 'command:'"),
        ('activate = ["session:x"]', "Unknown trigger 'session:x'"),
        ("[tools.weather]", "is invalid"),
    ],
)
def test_a_broken_manifest_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pi.toml").write_text(text)

    with pytest.raises(ExtensionError, match=message) as failed:
        read_manifest(tmp_path)

    assert str(tmp_path) in failed.value.message


def test_a_manifest_can_describe_tools(tmp_path: Path) -> None:
    (tmp_path / "pi.toml").write_text(
        'activate = ["tool:weather"]\nsub_sessions = true\n'
        '[tools.weather]\ndescription = "Show the weather."\n'
        '[tools.weather.parameters]\ntype = "object"\n'
        '[tools.weather.parameters.properties.place]\ntype = "string"\n'
    )

    assert read_manifest(tmp_path) == Manifest(
        activate=("tool:weather",),
        sub_sessions=True,
        tools={
            "weather": ToolManifest(
                description="Show the weather.",
                parameters={"type": "object", "properties": {"place": {"type": "string"}}},
            )
        },
    )


def test_an_unsupported_api_version_is_explained() -> None:
    newer = unsupported_api(Manifest(api="1.99"), "x")
    older = unsupported_api(Manifest(api=0), "x")

    assert Manifest().api in SUPPORTED_APIS
    assert SUPPORTED_APIS.isdisjoint({"1.99", 0})
    assert newer.explain() == (
        "x needs version 1.99 of the extension API; this pi has version 1.2. Update pi."
    )
    assert older.hint == "Update the extension."


@pytest.mark.parametrize("api", ["9" * 6000, f"1.{'9' * 6000}", "x", "1.2.3"])
def test_an_invalid_api_version_is_reported_with_a_short_message(api: str) -> None:
    message = unsupported_api(Manifest(api=api), "x").message

    assert message.startswith("Invalid version of the extension API")
    assert len(message) < 100
