"""Who asks: a bearer token, access keys, or whatever AWS's own credential chain finds.

The layers of settings are searched one after the other, those of the request first, so that what
somebody chose for pi beats what happens to be in the environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pi.ai.errors import AuthenticationFailed
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.sigv4 import AwsKeys
from pi.base.records import Record

WAYS_IN = (
    "Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "or AWS_PROFILE; a profile with single sign-on also needs `aws sso login`."
)

_renewing: dict[str | None, Any] = {}
"""Botocore's credentials by profile, where they renew themselves: to find them anew for every
request would ask AWS every time. Others are read again, so that a new login is seen."""


class AwsIdentity(Record):
    """What a request is authorised with, and the region that came with it."""

    token: str | None = None
    keys: AwsKeys | None = None
    region: str | None = None


async def find_identity(call: Call, environ: Mapping[str, str]) -> AwsIdentity:
    """The identity for ``call``; ``AuthenticationFailed`` where there is none."""
    layers = (call.options.env or {}, call.access.env, environ)
    region = next(filter(None, map(_named_region, layers)), None)
    if call.access.api_key:
        return AwsIdentity(token=call.access.api_key, region=region)
    for layer in layers:
        if token := layer.get("AWS_BEARER_TOKEN_BEDROCK"):
            return AwsIdentity(token=token, region=region)
        if (keys := _named_keys(layer)) is not None:
            return AwsIdentity(keys=keys, region=region)
        if profile := layer.get("AWS_PROFILE"):
            return await _from_chain(profile, region)
    return await _from_chain(None, region)


def _named_region(layer: Mapping[str, str]) -> str | None:
    return layer.get("AWS_REGION") or layer.get("AWS_DEFAULT_REGION")


def _named_keys(layer: Mapping[str, str]) -> AwsKeys | None:
    if layer.get("AWS_BEDROCK_SKIP_AUTH") == "1":  # a proxy puts in its own
        return AwsKeys(access_key="none", secret_key="none")
    access_key, secret_key = layer.get("AWS_ACCESS_KEY_ID"), layer.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = layer.get("AWS_SESSION_TOKEN")
    return AwsKeys(access_key=access_key, secret_key=secret_key, session_token=token)


async def _from_chain(profile: str | None, region: str | None) -> AwsIdentity:
    """Ask botocore, in a thread: it reads files, runs programs and asks servers."""
    keys, configured = await asyncio.to_thread(_ask_botocore, profile)
    return AwsIdentity(keys=keys, region=region or configured)


def _ask_botocore(profile: str | None) -> tuple[AwsKeys, str | None]:
    try:  # here and by name: it belongs to the extra and takes half a second to load
        botocore = import_module("botocore.session")
        problems = import_module("botocore.exceptions")
    except ImportError as problem:
        raise AuthenticationFailed(
            "No AWS token or key is set, and botocore, which finds profiles and roles, is missing.",
            hint=f"Install it with `pip install 'pi-harness[bedrock]'`. {WAYS_IN}",
        ) from problem
    whose = f"the profile {profile}" if profile else "this machine"
    try:
        session = botocore.Session(profile=profile)
        credentials = _renewing.get(profile) or session.get_credentials()
        if credentials is None:
            raise AuthenticationFailed(f"There are no AWS credentials on {whose}.", hint=WAYS_IN)
        frozen = credentials.get_frozen_credentials()
        region = session.get_config_variable("region")
    except (problems.BotoCoreError, problems.ClientError) as problem:
        raise AuthenticationFailed(
            f"AWS gave no credentials for {whose}: {problem}", hint=WAYS_IN
        ) from problem
    if hasattr(credentials, "refresh_needed"):
        _renewing[profile] = credentials
    keys = AwsKeys(
        access_key=frozen.access_key, secret_key=frozen.secret_key, session_token=frozen.token
    )
    return keys, region
