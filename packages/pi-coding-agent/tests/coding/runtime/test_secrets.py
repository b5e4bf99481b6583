"""Which variables and values are known to be secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.ai.auth.config_values import expand, remember_used
from pi.ai.auth.storage import AuthStorage
from pi.ai.provider import Provider
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.secrets import KnownSecrets
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


@pytest.fixture
def host(tmp_path: Path) -> Machine:
    home = {"HOME": str(tmp_path), "GROQ_API_KEY": "of the environment", "EDITOR": "vi"}
    return Machine.from_environ({**home, "MINE": "behind a name"}, agent_dir=tmp_path)


def keep(host: Machine, name: str, content: object) -> None:
    (host.agent_dir / name).write_text(json.dumps(content))


def provider(key: str) -> dict[str, object]:
    return {"providers": {"mine": {"baseUrl": "http://127.0.0.1:9", "apiKey": key}}}


def test_secrets_are_collected_from_the_environment_and_all_files(host: Machine) -> None:
    keep(
        host,
        "auth.json",
        {
            "groq": {"type": "api_key", "key": "cost$$ly", "env": {"A_TOKEN": "t", "REGION": "r"}},
            "xai": {"type": "api_key", "key": "$MINE"},
            "anthropic": {"type": "oauth", "access": "a", "refresh": "", "expires": 1},
        },
    )
    keep(host, "models.json", provider("of models.json"))
    secrets = KnownSecrets.of(host)

    assert set(secrets.values()) == {
        "of the environment",
        "a",
        "of models.json",
        "cost$ly",
        "t",
        "behind a name",
    }
    assert {"MINE", "A_TOKEN", "GROQ_API_KEY"} <= secrets.names()
    assert not {"REGION", "EDITOR"} & secrets.names()


async def test_key_commands_are_not_run_but_their_earlier_output_is_secret(host: Machine) -> None:
    keep(host, "auth.json", {"groq": {"type": "api_key", "key": "!echo printed"}})
    secrets = KnownSecrets.of(host)
    before = secrets.values()
    await expand("!echo printed", environ={"PATH": "/bin"})

    assert before == ("of the environment",)
    assert secrets.values() == ("of the environment", "printed")
    assert KnownSecrets.of(host).values() == ("of the environment", "printed")


def test_a_used_key_is_secret_even_if_no_file_contains_it(host: Machine) -> None:
    remember_used("of the command line")

    assert "of the command line" in KnownSecrets.of(host).values()


def test_changed_files_are_read_again_and_earlier_secrets_are_kept(host: Machine) -> None:
    secrets = KnownSecrets.of(host)
    assert "MINE" not in secrets.names()
    keep(host, "models.json", provider("$MINE"))
    assert "MINE" in secrets.names()
    keep(host, "models.json", provider("another"))
    (host.agent_dir / "auth.json").write_text("{broken")

    assert {"behind a name", "another"} <= set(secrets.values())
    assert "MINE" in secrets.names()


def test_an_earlier_value_of_a_variable_remains_secret(host: Machine) -> None:
    environ = {"GROQ_API_KEY": "first value"}
    secrets = KnownSecrets(host, AuthStorage(), environ=lambda: environ)
    secrets.values()
    environ["GROQ_API_KEY"] = "second value"

    assert secrets.values() == ("first value", "second value")


def test_secrets_include_extension_providers_and_login_settings(host: Machine) -> None:
    row = Provider(id="x", name="X", key_variables=("X_KEY",), secrets=("$X_HEADER", "literal"))
    clients = {"x": {"clientSecret": "of a login", "requestHeaders": {"X-Id": "of a header"}}}
    secrets = KnownSecrets(host, AuthStorage(), rows=lambda: [row], clients=lambda: clients)

    assert {"X_KEY", "X_HEADER"} <= secrets.names()
    assert {"literal", "of a login", "of a header"} <= set(secrets.values())


def test_strings_of_a_damaged_file_are_added_to_the_other_secrets(host: Machine) -> None:
    for name in ("auth.json", "models.json"):
        (host.agent_dir / name).write_text(f'{{"key": "a-rather-long-key-{name}", "k": "$MINE", ]')
    secrets = KnownSecrets.of(host)

    assert set(secrets.values()) == {
        "of the environment",
        "behind a name",
        "a-rather-long-key-auth.json",
        "a-rather-long-key-models.json",
    }


def test_unreadable_files_do_not_affect_other_secrets(host: Machine) -> None:
    for name in ("auth.json", "models.json"):
        (host.agent_dir / name).mkdir()

    assert KnownSecrets.of(replace(host, from_dotenv=frozenset())).values() == (
        "of the environment",
    )


async def test_commands_do_not_see_the_variables_of_an_extensions_provider(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        model = {"id": "m", "name": "M", "contextWindow": 1000, "maxTokens": 100}
        options = {"api_key": "$EXT_KEY", "headers": {"X-A": "${EXT_HEADER}"}, "models": [model]}
        pi.register_provider("mine", {"base_url": "http://127.0.0.1:9", "api": "a", **options})

    environ = {**ENVIRON, "EXT_KEY": "1", "EXT_HEADER": "2", "OTHER": "3"}
    fixture = SessionFixture(tmp_path, environ=environ)
    session = await fixture.open(extensions=ExtensionOptions(discover=False, inline=(extension,)))
    seen = await session.shell.run("echo [$EXT_KEY$EXT_HEADER$OTHER]")
    await session.close()

    assert seen.output == "[3]\n"
