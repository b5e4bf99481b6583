from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pi.ai.errors import AuthenticationFailed
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.bedrock_converse.identity import WAYS_IN, AwsIdentity, find_identity
from pi.ai.wire.bedrock_converse.signing import AwsKeys
from pi.base.installation import extra_command
from tests.ai.wire.bedrock_converse.calls import HELLO, model

ENV_KEYS = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK"}
KEYS = AwsKeys(access_key="AK", secret_key="SK")


def call(
    *,
    key: str | None = None,
    stored: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
) -> Call:
    return Call(
        model=model(),
        messages=(HELLO,),
        options=StreamOptions(env=given),
        access=Access(api_key=key, env=dict(stored or {})),
    )


# Settings ----------------------------------------------------------------------------------------


async def test_the_api_key_of_the_request_is_used_as_a_token_and_has_priority() -> None:
    environ = {**ENV_KEYS, "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"}

    identity = await find_identity(call(key="KEY"), environ)

    assert identity == AwsIdentity(token="KEY", region="eu-west-1")


async def test_a_token_of_the_environment_has_priority_over_keys() -> None:
    environ = {**ENV_KEYS, "AWS_BEARER_TOKEN_BEDROCK": "T", "AWS_DEFAULT_REGION": "us-west-2"}

    assert await find_identity(call(), environ) == AwsIdentity(token="T", region="us-west-2")


async def test_keys_of_the_environment_can_include_a_session_token() -> None:
    environ = {**ENV_KEYS, "AWS_SESSION_TOKEN": "S"}

    identity = await find_identity(call(), environ)

    expiring = AwsKeys(access_key="AK", secret_key="SK", session_token="S")
    assert identity == AwsIdentity(keys=expiring)


@pytest.mark.behaviour("explicit-credentials-win")
async def test_credentials_of_the_request_and_of_the_entry_override_the_environment() -> None:
    environ = {"AWS_BEARER_TOKEN_BEDROCK": "T", "AWS_REGION": "us-east-1"}

    stored = await find_identity(call(stored={**ENV_KEYS, "AWS_REGION": "eu-west-1"}), environ)
    given = await find_identity(
        call(given={"AWS_BEARER_TOKEN_BEDROCK": "G"}, stored=ENV_KEYS), environ
    )

    assert stored == AwsIdentity(keys=KEYS, region="eu-west-1")
    assert given == AwsIdentity(token="G", region="us-east-1")


async def test_a_proxy_that_authenticates_itself_gets_a_dummy_signature() -> None:
    identity = await find_identity(call(), {"AWS_BEDROCK_SKIP_AUTH": "1"})

    assert identity == AwsIdentity(keys=AwsKeys(access_key="none", secret_key="none"))


# The chain of AWS --------------------------------------------------------------------------------


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of two AWS files, on a machine without a server for roles."""
    pytest.importorskip("botocore", reason="not installed; not tested: AWS's credential chain")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


def write_profile(folder: Path, name: str, access_key: str) -> None:
    (folder / "credentials").write_text(
        f"[{name}]\naws_access_key_id = {access_key}\naws_secret_access_key = SK\n"
    )
    (folder / "config").write_text(f"[profile {name}]\nregion = ap-south-1\n")


@pytest.mark.behaviour("explicit-credentials-win")
async def test_a_profile_is_looked_up_with_its_region(aws: Path) -> None:
    write_profile(aws, "work", "AK")

    assert await find_identity(call(), {"AWS_PROFILE": "work"}) == AwsIdentity(
        keys=KEYS, region="ap-south-1"
    )
    assert await find_identity(call(stored={"AWS_PROFILE": "work"}), ENV_KEYS) == AwsIdentity(
        keys=KEYS, region="ap-south-1"
    )


@pytest.mark.behaviour("login-in-another-terminal-is-seen")
async def test_replaced_keys_in_the_credential_file_are_read(aws: Path) -> None:
    write_profile(aws, "default", "OLD")
    old = await find_identity(call(), {})
    write_profile(aws, "default", "NEW")
    new = await find_identity(call(), {})

    assert [identity.keys and identity.keys.access_key for identity in (old, new)] == ["OLD", "NEW"]


async def test_refreshable_credentials_are_requested_once(aws: Path) -> None:
    program = aws / "issue.py"
    program.write_text(
        "import json, pathlib\n"
        f"pathlib.Path({str(aws / 'asked')!r}).open('a').write('x')\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': 'AK', 'SecretAccessKey': 'SK',\n"
        "    'SessionToken': 'S', 'Expiration': '2999-01-01T00:00:00Z'}))\n"
    )
    process = f'"{sys.executable}" -W ignore "{program}"'
    (aws / "config").write_text(f"[profile {aws.name}]\ncredential_process = {process}\n")

    found = [await find_identity(call(), {"AWS_PROFILE": aws.name}) for _ in range(2)]

    keys = AwsKeys(access_key="AK", secret_key="SK", session_token="S")
    assert found == [AwsIdentity(keys=keys)] * 2
    assert (aws / "asked").read_text() == "x"


async def test_a_missing_profile_is_named_in_the_error(aws: Path) -> None:
    with pytest.raises(AuthenticationFailed, match=r"for the profile missing: .*missing") as failed:
        await find_identity(call(), {"AWS_PROFILE": "missing"})

    assert failed.value.hint == WAYS_IN


async def test_missing_credentials_raise_an_error_with_a_hint(aws: Path) -> None:
    with pytest.raises(AuthenticationFailed) as failed:
        await find_identity(call(), {})

    assert failed.value.explain() == f"There are no AWS credentials on this machine. {WAYS_IN}"


async def test_without_botocore_the_error_explains_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)

    with pytest.raises(AuthenticationFailed, match="botocore") as failed:
        await find_identity(call(), {})

    assert extra_command("bedrock") in failed.value.message
