"""Which values of tables and files are secret."""

from __future__ import annotations

import json

import pytest

from pi.ai.auth.secrets import (
    Secrets,
    of_auth_json,
    of_clients,
    of_damaged,
    of_header,
    of_models_json,
    of_rows,
    of_tables,
    together,
)
from pi.ai.provider import Provider
from pi.ai.providers.discovered import SERVER_ROWS
from pi.ai.providers.rows import BUILT_IN


def models(**provider: object) -> Secrets:
    return of_models_json(json.dumps({"providers": {"mine": provider}}))


def values(secrets: Secrets, **environ: str) -> list[str]:
    return sorted(set(secrets.values(environ)))


def test_every_row_is_in_the_tables() -> None:
    names = {n for row in (*BUILT_IN, *SERVER_ROWS) for n in row.key_variables}

    assert names | {"AWS_SESSION_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"} <= of_tables().names


def test_rows_may_contain_secrets_beside_their_variables() -> None:
    row = Provider(id="x", name="X", token_variables=("T",), secrets=("$A-b", "!pass $C"))

    assert of_rows([row]) == Secrets(names=frozenset("TAC"), texts=frozenset({"$A-b"}))


@pytest.mark.parametrize(
    ("text", "environ", "found"),
    [
        ("literal", {}, ["literal"]),
        ("cost$$ly", {}, ["cost$ly"]),
        ("$A", {"A": "value"}, ["value"]),
        ("$A", {}, []),
        ("one${A}two", {"A": "value"}, ["onevaluetwo", "value"]),
        ("one${A}two", {}, ["one${A}two"]),
        ("$HOME", {"HOME": "/home/me"}, []),
        ("!cat key", {}, []),
        ("!decrypt $A", {"A": "value"}, ["value"]),
        ("Bearer abc", {}, ["Bearer abc", "abc"]),
        ("ollama", {}, []),
        ("Mine", {}, []),
    ],
)
def test_keys_in_value_syntax(text: str, environ: dict[str, str], found: list[str]) -> None:
    assert values(models(apiKey=text), **environ) == found


def test_most_headers_of_providers_models_and_overrides_are_secret() -> None:
    found = models(
        headers={"X-A": "$A", "User-Agent": "client $B", "Cookie": "id=one; other=$C"},
        models=[{"id": "m", "headers": {"X-M": "of the model"}, "name": "$D"}],
        modelOverrides={"n": {"headers": {"X-N": "of the override"}}},
        compat={"maxTokensField": "max_tokens"},
    )

    assert found.names == frozenset("ABCD")
    assert values(found, C="two") == [
        "id=one; other=two",
        "of the model",
        "of the override",
        "one",
        "two",
    ]


def test_passwords_and_keys_in_a_base_url_are_secret() -> None:
    found = models(baseUrl="https://me:pass%20word@host/v1?api_key=abc&page=2")

    assert values(found) == ["abc", "pass word", "pass%20word"]
    assert values(models(baseUrl="http://[broken")) == []
    for url in ("https://t0ken-alone@host/v1", "https://t0ken-alone:@host/v1"):
        assert values(models(baseUrl=url)) == ["t0ken-alone"]
    long = "a-token-of-twenty-characters"
    assert long in values(models(baseUrl=f"https://{long}:x-oauth-basic@host/v1"))


def test_secrets_are_found_in_models_json_with_comments_and_in_a_damaged_file() -> None:
    assert values(of_models_json('{"apiKey": "abc", // mine\n}')) == ["abc"]
    assert of_models_json(
        '{"apiKey": "$A", "k": "sixteen-or-more-4711", "u": "https://long.example'
    ) == (Secrets(names=frozenset("A"), texts=frozenset({"sixteen-or-more-4711"})))
    assert of_models_json("[]") == of_models_json('{"providers": 1}') == of_damaged("") == Secrets()


def test_entries_of_the_store() -> None:
    found = of_auth_json(
        {
            "a": {"type": "api_key", "key": "!cat", "env": {"A_KEY": "one", "A_REGION": "two"}},
            "b": {"type": "oauth", "access": "thr$ee", "refresh": "four", "accountId": "five"},
            "c": {"type": "of the future", "id_token": "six", "models": ["seven"]},
            "d": "not an entry",
        }
    )

    assert values(found) == ["four", "one", "six", "thr$ee"]
    assert "A_KEY" in found.names
    assert "A_REGION" not in found.names


def test_gateway_header_values_and_an_inline_client_key_are_secret() -> None:
    tables = of_tables()

    assert values(
        tables, ANTHROPIC_CUSTOM_HEADERS="X-Auth: Bearer one, Accept: text/plain\nX-B: two"
    ) == ["Bearer one", "one", "two"]
    assert values(tables, CLAUDE_CODE_CLIENT_KEY="/home/me/key.pem") == []
    assert "MIIE" in values(tables, CLAUDE_CODE_CLIENT_KEY="-----BEGIN KEY-----\nMIIE\n-----END")


def test_only_the_variables_of_a_header_command_are_secret() -> None:
    assert of_header("cookie", "!echo $A=b") == Secrets(names=frozenset("A"))


def test_secrets_of_several_sources_are_combined() -> None:
    one, two = Secrets(names=frozenset("A")), Secrets(texts=frozenset("b"))

    assert together([one, two]) == one | two == Secrets(names=frozenset("A"), texts=frozenset("b"))
    assert of_clients({"x": {"headers": {"X-C": "c"}, "clientId": "d"}}).texts == {"c"}
