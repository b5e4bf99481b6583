"""Which values are known to be secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.ai.auth.storage import AuthStorage
from pi.ai.auth.values import expand
from pi.coding.runtime.host import Host
from pi.coding.runtime.secrets import known_secrets


@pytest.fixture
def host(tmp_path: Path) -> Host:
    home = {"HOME": str(tmp_path), "GROQ_API_KEY": "of the environment", "EDITOR": "vi"}
    return Host.of({**home, "MINE": "behind a name"}, agent_dir=tmp_path)


def keep(host: Host, name: str, content: object) -> None:
    (host.agent_dir / name).write_text(json.dumps(content))


def store(host: Host) -> AuthStorage:
    return AuthStorage(host.agent_dir / "auth.json", clock=host.clock)


async def test_keys_and_tokens_of_every_place_are_known(host: Host) -> None:
    keep(
        host,
        "auth.json",
        {
            "groq": {"type": "api_key", "key": "cost$$ly", "env": {"A_TOKEN": "t", "REGION": "r"}},
            "xai": {"type": "api_key", "key": "$MINE"},
            "anthropic": {"type": "oauth", "access": "a", "refresh": "", "expires": 1},
        },
    )
    models = {"mine": {"baseUrl": "http://127.0.0.1:9", "apiKey": "of models.json"}}
    keep(host, "models.json", {"providers": models})

    assert await known_secrets(host, store(host)) == (
        "of the environment",
        "a",
        "of models.json",
        "cost$ly",
        "t",
        "behind a name",
    )


async def test_a_command_is_not_run_for_it_but_what_it_printed_is_known(host: Host) -> None:
    keep(host, "auth.json", {"groq": {"type": "api_key", "key": "!echo printed"}})
    storage = store(host)
    before = await known_secrets(host, storage)
    await expand("!echo printed", environ={"PATH": "/bin"}, remembered=storage.commands)

    assert before == ("of the environment",)
    assert await known_secrets(host, storage) == ("of the environment", "printed")


async def test_files_that_cannot_be_read_hide_nothing_else(host: Host) -> None:
    for name in ("auth.json", "models.json"):
        (host.agent_dir / name).write_text("{broken")

    assert await known_secrets(host, store(host)) == ("of the environment",)
