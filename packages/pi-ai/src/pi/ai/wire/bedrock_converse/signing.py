"""AWS Signature Version 4. Pure.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from urllib.parse import quote

from pi.ai.http.url import parse_url
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
