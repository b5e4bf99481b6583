"""AWS Signature Version 4, and the AWS credentials of a request.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import quote

from pi.ai.errors import AuthenticationFailed
from pi.ai.http.url import parse_url
from pi.ai.request import Call
from pi.base.installation import extra_command
from pi.base.records import Record

ALGORITHM = "AWS4-HMAC-SHA256"


class AwsKeys(Record):
    """Access keys for signing."""

    access_key: str
    secret_key: str
    session_token: str | None = None
    """Set for temporary keys."""


class SigningScope(Record):
    """The scope of a signature: time, region, service."""

    moment: str
    """The time of signing, e.g. ``20150830T123600Z``."""
    region: str
    service: str

    @property
    def text(self) -> str:
        """The scope as text in the header and in the signed string."""
        return f"{self.moment[:8]}/{self.region}/{self.service}/aws4_request"


def scope_at(now_ms: int, *, region: str, service: str) -> SigningScope:
    """Return the scope of a signature made now."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ms // 1000))
    return SigningScope(moment=moment, region=region, service=service)


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    keys: AwsKeys,
    scope: SigningScope,
) -> dict[str, str]:
    """Return ``headers`` with the signature, which covers all of them, the URL and the body.

    Headers that are added later are not covered, which AWS allows.
    """
    signed = {**headers, "X-Amz-Date": scope.moment}
    if keys.session_token:
        signed["X-Amz-Security-Token"] = keys.session_token
    covered = {name.lower(): " ".join(value.split()) for name, value in signed.items()}
    covered.setdefault("host", parse_url(url).origin.host_header)
    text = string_to_sign(canonical_request(method, url, covered, body), scope)
    signature = hmac.new(_signing_key(keys, scope), text.encode(), hashlib.sha256).hexdigest()
    return {
        **signed,
        "Authorization": f"{ALGORITHM} Credential={keys.access_key}/{scope.text}, "
        f"SignedHeaders={';'.join(sorted(covered))}, Signature={signature}",
    }


def canonical_request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> str:
    """Return the canonical request; ``headers`` have lower-case names."""
    path, _, query = parse_url(url).target.partition("?")
    names = sorted(headers)
    return "\n".join(
        (
            method,
            quote(path, safe="/~"),  # quoted again on top of the URL's own quoting, except for S3
            "&".join(sorted(query.split("&"), key=lambda pair: pair.partition("="))),
            *(f"{name}:{headers[name]}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(body).hexdigest(),
        )
    )


def string_to_sign(canonical: str, scope: SigningScope) -> str:
    """Return the string that is signed."""
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return "\n".join((ALGORITHM, scope.moment, scope.text, digest))


def _signing_key(keys: AwsKeys, scope: SigningScope) -> bytes:
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.text.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


# Credentials: a bearer token, access keys, or AWS's own credential chain --------------------------
#
# The layers of settings are searched in order, those of the request first, so that a choice for pi
# takes precedence over the environment.


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
