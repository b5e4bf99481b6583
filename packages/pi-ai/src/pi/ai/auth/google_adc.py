"""Google's application default credentials: access tokens without a key in the environment.

The chain is Google's: the file that ``GOOGLE_APPLICATION_CREDENTIALS`` names, the one that
``gcloud auth application-default login`` writes, the metadata server of Google's own machines.
``google-auth`` (the extra ``vertex``) reads the files; it is imported only if there is one. Its
requests go through our HTTP client, so proxies and certificates apply.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError as Withdrawn
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from pi.ai.auth.ambient import PROJECT_VARIABLES, credential_file, google_auth_is_missing
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.exchange import HttpResponse
from pi.ai.http.request import HttpRequest, Timeouts
from pi.ai.messages import Json
from pi.base.files import read_regular

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
METADATA_HOST = "metadata.google.internal"
METADATA_SECONDS = 3.0
"""Outside Google Cloud the metadata server never answers, so the timeout is short."""
REFRESH_SECONDS = 30.0

_LOG_IN = "Run `gcloud auth application-default login`, or set GOOGLE_CLOUD_API_KEY."

Token: TypeAlias = tuple[str, str | None]
"""An access token, and the project it belongs to where that is known."""


async def access_token(environ: Mapping[str, str], http: HttpClient) -> Token:
    """Return a new token; ``GoogleCredentials`` keeps one between requests."""
    return await GoogleCredentials().access_token(environ, http)


class GoogleCredentials:
    """Application default credentials; wires get a token from them before every request.

    The token of a file is kept until shortly before it expires; concurrent callers share one
    refresh, and a new login takes effect at once.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loaded: _Loaded | None = None

    async def access_token(self, environ: Mapping[str, str], http: HttpClient) -> Token:
        """Return a valid token, and the project of the environment or else of the credentials.

        Raises ``AuthenticationFailed`` if there are no credentials or Google refuses them, and
        ``ProviderUnavailable`` if Google cannot be reached.
        """
        path = credential_file(environ)
        if path is None:
            return await _metadata_token(environ)
        async with self._lock:
            self._loaded = loaded = await asyncio.to_thread(_load, path, self._loaded)
            if not loaded.credentials.valid:
                await _refresh(loaded.credentials, http)
        return loaded.credentials.token, _project(environ) or loaded.project


def _project(environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in PROJECT_VARIABLES if environ.get(name)), None)


# Files -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Loaded:
    """Credentials of a file, with the state of the file when it was read."""

    path: Path
    changed_ns: int
    credentials: Any
    project: str | None


def _load(path: Path, before: _Loaded | None) -> _Loaded:
    """Return the credentials in ``path``; those from ``before`` while the file is unchanged."""
    try:
        changed_ns = path.stat().st_mtime_ns
        if before is not None and (before.path, before.changed_ns) == (path, changed_ns):
            return before
        info = msgspec.json.decode(read_regular(path), type=dict[str, Any])
        credentials = _credentials_from(info)
    except OSError as error:
        reason = error.strerror
    except (ValueError, KeyError) as error:  # also raised by google-auth for malformed content
        reason = str(error)
    else:
        project = info.get("project_id") or info.get("quota_project_id")
        return _Loaded(path, changed_ns, credentials, project)
    raise AuthenticationFailed(
        f"Cannot use the Google credentials in {path}: {reason}", hint=_LOG_IN
    )


def _credentials_from(info: Json) -> Any:
    """Return google-auth's credentials object for the content of a file."""
    match info:
        case {"type": "service_account"}:
            kind = _library("google.oauth2.service_account").Credentials
            return kind.from_service_account_info(info, scopes=SCOPES)
        case {"type": "authorized_user"}:
            return _library("google.oauth2.credentials").Credentials.from_authorized_user_info(info)
        case {"type": "impersonated_service_account"}:
            kind = _library("google.auth.impersonated_credentials").Credentials
            return kind.from_impersonated_service_account_info(info, scopes=SCOPES)
        case {"type": "external_account", "credential_source": {"environment_id": _}}:
            return _library("google.auth.aws").Credentials.from_info(info, scopes=SCOPES)
        case {"type": "external_account"}:
            return _library("google.auth.identity_pool").Credentials.from_info(info, scopes=SCOPES)
        case _:
            raise ValueError(f"credentials of type {info.get('type')!r} are not supported.")


def _library(name: str) -> Any:
    """Import a module of google-auth, an optional dependency."""
    try:
        return import_module(name)
    except ImportError as error:
        raise google_auth_is_missing() from error


# Refreshing --------------------------------------------------------------------------------------


async def _refresh(credentials: Any, http: HttpClient) -> None:
    """Refresh the token in a thread, because google-auth blocks."""
    exceptions = _library("google.auth.exceptions")
    bridge = _Bridge(http, asyncio.get_running_loop(), exceptions.TransportError)
    try:
        await asyncio.to_thread(credentials.refresh, bridge)
    except asyncio.CancelledError:
        bridge.withdraw()
        raise
    except exceptions.GoogleAuthError as error:
        reason = error.args[0] if error.args else type(error).__name__
        if error.retryable or isinstance(error, exceptions.TransportError):
            text = f"Google could not be asked for a token: {reason}"
            raise ProviderUnavailable(text) from error
        text = f"Google refused the credentials: {reason}"
        raise AuthenticationFailed(text, hint=_LOG_IN) from error


@dataclass(frozen=True)
class _Response:
    """A response as google-auth reads it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Bridge:
    """google-auth's transport: called in a thread, it uses our client in the event loop."""

    def __init__(
        self, http: HttpClient, loop: asyncio.AbstractEventLoop, error_type: type[Exception]
    ) -> None:
        self._http = http
        self._loop = loop
        self._error_type = error_type
        self._lock = threading.Lock()
        self._withdrawn = False
        self._exchange: Future[HttpResponse] | None = None

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> _Response:
        """Send one request; raises google-auth's ``TransportError``."""
        seconds = timeout or REFRESH_SECONDS
        request = HttpRequest(
            url=url,
            method=method,
            headers=tuple((headers or {}).items()),
            body=body.encode() if isinstance(body, str) else body or b"",
            timeouts=Timeouts(connect=seconds, first_byte=seconds, idle=seconds),
        )
        try:
            response = self._begin(request).result()
        except (HttpError, Withdrawn) as error:
            raise self._error_type(str(error)) from error
        return _Response(response.status, dict(response.headers), response.body)

    def withdraw(self) -> None:
        """Cancel the current exchange, and refuse further ones."""
        with self._lock:
            self._withdrawn = True
            if self._exchange is not None:
                self._exchange.cancel()

    def _begin(self, request: HttpRequest) -> Future[HttpResponse]:
        with self._lock:
            if self._withdrawn:
                raise Withdrawn("The token request was cancelled.")
            exchange = self._http.request(request)
            self._exchange = asyncio.run_coroutine_threadsafe(exchange, self._loop)
            return self._exchange


# Google's own machines ---------------------------------------------------------------------------


async def _metadata_token(environ: Mapping[str, str]) -> Token:
    """Return the token of the machine's service account, from its metadata server.

    Never through a proxy, which would reach the metadata server of its own machine.
    """
    if environ.get("NO_GCE_CHECK") == "true":
        raise AuthenticationFailed("There are no Google credentials here.", hint=_LOG_IN)
    base = f"http://{environ.get('GCE_METADATA_HOST') or METADATA_HOST}/computeMetadata/v1"
    async with HttpClient(environ={}, proxy="") as direct:
        try:
            scopes = ",".join(SCOPES)
            url = f"{base}/instance/service-accounts/default/token?scopes={scopes}"
            token = (await _metadata(direct, url)).json()["access_token"]
            project = _project(environ)
            if project is None:
                project = (await _metadata(direct, f"{base}/project/project-id")).text.strip()
        except (HttpError, KeyError, TypeError) as error:
            raise AuthenticationFailed(
                "There are no Google credentials here.", hint=_LOG_IN
            ) from error
    return str(token), project or None


async def _metadata(client: HttpClient, url: str) -> HttpResponse:
    seconds = METADATA_SECONDS
    response = await client.request(
        HttpRequest(
            url=url,
            headers=(("Metadata-Flavor", "Google"),),
            timeouts=Timeouts(connect=seconds, first_byte=seconds, idle=seconds),
        )
    )
    if response.status != 200:
        raise AuthenticationFailed(
            f"Google's metadata server answered {response.status}: {response.text[:200]}",
            hint="Check the service account of this machine and its scopes.",
        )
    return response
