"""The credentials of a request: a bearer token, access keys, or the credential chain of AWS.

The layers of settings are searched in order, those of the request first, so that a choice for pi
takes precedence over the environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from pi.ai.errors import AuthenticationFailed
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.signing import AwsKeys
from pi.base.installation import extra_command
from pi.base.records import Record

DEFAULT_REGION = "us-east-1"

WAYS_IN = (
    "Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "or AWS_PROFILE, or AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN; a profile with single "
    "sign-on also needs `aws sso login`."
)


class WebIdentity(Record, frozen=True):
    """A role assumed with a token in a file, as for a Kubernetes pod or a CI job."""

    token_file: str
    role_arn: str
    session_name: str


_renewing: dict[str | WebIdentity | None, Any] = {}
"""Botocore's renewable credentials by profile or role: finding them again would send a request to
AWS every time. Others are read again, so that a new login takes effect."""


class AwsIdentity(Record):
    """The credentials of a request, and their region."""

    token: str | None = None
    keys: AwsKeys | None = None
    region: str | None = None


async def find_identity(call: Call, environ: Mapping[str, str]) -> AwsIdentity:
    """Return the identity for ``call``; raises ``AuthenticationFailed`` if there is none."""
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
        # Not left to botocore: it reads only the variables of the process, which has neither those
        # of a .env file nor those of an entry in auth.json.
        if (role := _web_identity(layer)) is not None:
            return await _from_chain(role, region)
    return await _from_chain(None, region)


def _named_region(layer: Mapping[str, str]) -> str | None:
    return layer.get("AWS_REGION") or layer.get("AWS_DEFAULT_REGION")


def _named_keys(layer: Mapping[str, str]) -> AwsKeys | None:
    if layer.get("AWS_BEDROCK_SKIP_AUTH") == "1":  # a proxy adds its own signature
        return AwsKeys(access_key="none", secret_key="none")
    access_key, secret_key = layer.get("AWS_ACCESS_KEY_ID"), layer.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = layer.get("AWS_SESSION_TOKEN")
    return AwsKeys(access_key=access_key, secret_key=secret_key, session_token=token)


def _web_identity(layer: Mapping[str, str]) -> WebIdentity | None:
    token_file, role_arn = layer.get("AWS_WEB_IDENTITY_TOKEN_FILE"), layer.get("AWS_ROLE_ARN")
    if not token_file or not role_arn:
        return None
    name = layer.get("AWS_ROLE_SESSION_NAME") or "pi"
    return WebIdentity(token_file=token_file, role_arn=role_arn, session_name=name)


async def _from_chain(source: str | WebIdentity | None, region: str | None) -> AwsIdentity:
    """Run botocore's chain in a thread: it reads files, runs programs and contacts servers."""
    keys, configured = await asyncio.to_thread(_ask_botocore, source, region)
    return AwsIdentity(keys=keys, region=region or configured)


def _ask_botocore(
    source: str | WebIdentity | None, region: str | None
) -> tuple[AwsKeys, str | None]:
    try:  # lazy: an optional dependency that takes half a second to load
        botocore = import_module("botocore.session")
        problems = import_module("botocore.exceptions")
    except ImportError as error:
        raise AuthenticationFailed(
            "No AWS token or key is set, and botocore, which finds profiles and roles, is not"
            f" installed: run `{extra_command('bedrock')}`.",
            hint=WAYS_IN,
        ) from error
    profile = source if isinstance(source, str) else None
    source_name = f"the profile {profile}" if profile else "this machine"
    if isinstance(source, WebIdentity):
        source_name = f"the role {source.role_arn}"
    try:
        session = botocore.Session(profile=profile)
        credentials = _renewing.get(source)
        if credentials is None and isinstance(source, WebIdentity):
            credentials = _assumed(source, session, region)
        elif credentials is None:
            credentials = session.get_credentials()
        if credentials is None:
            raise AuthenticationFailed(
                f"There are no AWS credentials on {source_name}.", hint=WAYS_IN
            )
        frozen = credentials.get_frozen_credentials()
        configured = session.get_config_variable("region")
    except (problems.BotoCoreError, problems.ClientError, OSError) as error:
        raise AuthenticationFailed(
            f"AWS gave no credentials for {source_name}: {error}", hint=WAYS_IN
        ) from error
    if hasattr(credentials, "refresh_needed"):
        _renewing[source] = credentials
    keys = AwsKeys(
        access_key=frozen.access_key, secret_key=frozen.secret_key, session_token=frozen.token
    )
    return keys, configured


def _assumed(role: WebIdentity, session: Any, region: str | None) -> Any:
    """Return credentials of a role, which botocore gets and renews with the token in the file."""
    credentials = import_module("botocore.credentials")
    region = region or session.get_config_variable("region") or DEFAULT_REGION
    fetcher = credentials.AssumeRoleWithWebIdentityCredentialFetcher(
        client_creator=partial(session.create_client, region_name=region),
        web_identity_token_loader=import_module("botocore.utils").FileWebIdentityTokenLoader(
            role.token_file
        ),
        role_arn=role.role_arn,
        extra_args={"RoleSessionName": role.session_name},
    )
    return credentials.DeferredRefreshableCredentials(
        method="assume-role-with-web-identity", refresh_using=fetcher.fetch_credentials
    )
