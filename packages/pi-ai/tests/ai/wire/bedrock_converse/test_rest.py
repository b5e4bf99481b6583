from __future__ import annotations

import pytest

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.wire.bedrock_converse.identity import AwsIdentity
from pi.ai.wire.bedrock_converse.request import encode
from pi.ai.wire.bedrock_converse.rest import rest_request
from pi.ai.wire.bedrock_converse.signing import scope_at, sign
from tests.ai.wire.bedrock_converse.calls import IDENTITY, KEYS, SONNET, call, model

NOW = 1_700_000_000_000
ARN = "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.anthropic.claude-opus-4-7"
FIXED = {"Accept": "application/vnd.amazon.eventstream", "User-Agent": user_agent()}


def url(id: str, base_url: str, region: str | None) -> str:
    asked = call(target=model(id, base_url=base_url))
    identity = AwsIdentity(token="T", region=region)
    return rest_request(asked, encode(asked), identity, NOW).url


def test_a_bearer_token_is_sent_without_a_signature() -> None:
    asked = call()
    payload = encode(asked)

    request = rest_request(asked, payload, AwsIdentity(token="T"), NOW)

    body = {name: part for name, part in payload.items() if name != "modelId"}
    assert request.body == json_bytes(body)
    assert request.headers == {
        "Content-Type": "application/json",
        "Authorization": "Bearer T",
        **FIXED,
    }


def test_keys_sign_the_bytes_that_are_sent() -> None:
    asked = call(target=model(SONNET))

    request = rest_request(asked, encode(asked), IDENTITY, NOW)

    signed = sign(
        "POST",
        request.url,
        {"Content-Type": "application/json"},
        request.body,
        keys=KEYS,
        scope=scope_at(NOW, region="us-east-1", service="bedrock"),
    )
    assert request.headers == {**signed, **FIXED}


def test_a_model_id_changed_by_a_hook_is_used_in_the_url() -> None:
    asked = call()

    request = rest_request(asked, {**encode(asked), "modelId": "a/b:0"}, IDENTITY, NOW)

    assert request.url.endswith(".amazonaws.com/model/a%2Fb%3A0/converse-stream")


AWS = "https://bedrock-runtime.us-east-1.amazonaws.com"


@pytest.mark.behaviour("bedrock-request-rules")
@pytest.mark.parametrize(
    ("id", "base_url", "region", "host"),
    [
        (ARN, AWS, "us-west-2", "https://bedrock-runtime.eu-west-3.amazonaws.com"),
        ("m", AWS, "us-west-2", "https://bedrock-runtime.us-west-2.amazonaws.com"),
        ("m", AWS, None, AWS),
        ("m", "", None, AWS),
        ("m", "", "cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        (
            "m",
            "https://bedrock-runtime-fips.us-east-1.amazonaws.com",
            "us-gov-west-1",
            "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
        ),
        (ARN, "https://proxy.test/bedrock", None, "https://proxy.test/bedrock"),
    ],
)
def test_the_region_comes_from_the_arn_then_the_user_then_the_base_url(
    id: str, base_url: str, region: str | None, host: str
) -> None:
    assert url(id, base_url, region).partition("/model/")[0] == host


@pytest.mark.parametrize(
    ("id", "base_url", "signed"),
    [
        (ARN, "https://proxy.test", "eu-west-3"),
        ("m", "https://vpce-1a2b.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "eu-west-1"),
        ("m", "https://bedrock-runtime.us-gov-west-1.api.aws", "us-gov-west-1"),
        ("m", "https://proxy.test:8443/x-us-east-12", "us-east-1"),
    ],
)
def test_a_request_through_another_host_is_signed_for_the_known_region(
    id: str, base_url: str, signed: str
) -> None:
    asked = call(target=model(id, base_url=base_url))

    request = rest_request(asked, encode(asked), AwsIdentity(keys=KEYS), NOW)

    assert request.url.startswith(f"{base_url}/model/")
    assert f"/{signed}/bedrock/aws4_request" in request.headers["Authorization"]
