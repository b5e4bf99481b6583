"""The HTTP request, as the SDK of AWS makes it."""

from __future__ import annotations

import re
from urllib.parse import quote

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.messages import (
    Json,
)
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.identity import DEFAULT_REGION, AwsIdentity
from pi.ai.wire.bedrock_converse.signing import scope_at, sign
from pi.base.records import Record

SERVICE = "bedrock"

_ARN_REGION = r"arn:aws[a-z-]*:bedrock:([a-z0-9-]+):"

_REGION = r"(?<![a-z0-9-])[a-z]{2}(?:-[a-z]+)+-\d(?![a-z0-9-])"

_AWS_HOST = r"(https://bedrock-runtime(?:-fips)?)\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?"


class RestRequest(Record):
    """A request that is ready to be sent."""

    url: str
    headers: dict[str, str]
    body: bytes


def rest_request(call: Call, payload: Json, identity: AwsIdentity, now_ms: int) -> RestRequest:
    """Return the request for ``payload``, signed now unless there is a bearer token."""
    model_id = payload.get("modelId") or call.model.id
    body = json_bytes({name: part for name, part in payload.items() if name != "modelId"})
    region = _region(call, model_id, identity)
    url = f"{_host(call, region)}/model/{quote(model_id, safe='')}/converse-stream"
    headers = {"Content-Type": "application/json"}
    if identity.token:
        headers["Authorization"] = f"Bearer {identity.token}"
    elif identity.keys is not None:
        scope = scope_at(now_ms, region=region, service=SERVICE)
        headers = sign("POST", url, headers, body, keys=identity.keys, scope=scope)
    headers |= {"Accept": "application/vnd.amazon.eventstream", "User-Agent": user_agent()}
    return RestRequest(url=url, headers=headers, body=body)


def _region(call: Call, model_id: str, identity: AwsIdentity) -> str:
    """Return the region: from the model's ARN, the user's settings, or the base URL."""
    if match := re.match(_ARN_REGION, model_id):
        return match[1]
    if identity.region:
        return identity.region
    named = re.search(_REGION, call.base_url)
    return named[0] if named else DEFAULT_REGION


def _host(call: Call, region: str) -> str:
    """Return the base URL; one of AWS's own follows the region."""
    match = re.fullmatch(_AWS_HOST, call.base_url)
    if call.base_url and match is None:
        return call.base_url
    service = match[1] if match else "https://bedrock-runtime"
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"{service}.{region}.amazonaws.com{suffix}"
