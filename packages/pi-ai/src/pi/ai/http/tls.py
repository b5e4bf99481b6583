"""TLS contexts: trusted authorities and client certificate, loaded when https is first used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl  # asyncio has loaded it already; the 30 ms are in the context
import threading
from collections.abc import Iterator, Mapping

from pi.ai.http.errors import ConnectionLost, HttpError, TlsFailed, os_reason
from pi.base.records import Record

logger = logging.getLogger(__name__)

_EXTRA_CA_VARIABLES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
_PASSING = ("BAD_RECORD", "RECORD_LAYER", "INTERNAL_ERROR", "UNEXPECTED_EOF")
"""Parts of OpenSSL's reason codes for a damaged connection, not a wrong certificate."""
_NO_KEY = ValueError("it has no private key, and CLAUDE_CODE_CLIENT_KEY names none")


class TlsSettings(Record):
    """Additions to the system's trust store; each value is a PEM file or PEM text."""

    extra_ca: str = ""
    client_certificate: str = ""
    client_key: str = ""
    """Empty if the key is in the same PEM as the certificate."""
    client_key_password: str = ""


class TlsContext:
    """The SSL context of one client, created once in a thread."""

    def __init__(self, settings: TlsSettings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None

    async def get(self) -> ssl.SSLContext:
        """Return the context; raises ``TlsFailed`` if the settings are invalid."""
        if self._context is not None:
            return self._context
        return await asyncio.to_thread(self._build)

    def _build(self) -> ssl.SSLContext:
        # The thread of a cancelled request continues; the next request waits for its result.
        with self._lock:
            if self._context is None:
                self._context = build_context(self._settings, self._environ)
            return self._context


def build_context(settings: TlsSettings, environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return a verifying client context: the system's authorities, the extra ones, our
    certificate."""
    # Not create_default_context: since Python 3.13 it refuses authorities without key identifiers,
    # which companies still use.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    for variable in _EXTRA_CA_VARIABLES:
        if source := environ.get(variable, ""):
            try:
                _trust(context, source)
            except TlsFailed as error:
                # The variable is meant for other programs too: a stale value is logged and ignored.
                logger.warning("%s is ignored. %s", variable, error)
    if settings.extra_ca:
        _trust(context, settings.extra_ca)
    if settings.client_certificate:
        _identify(context, settings)
    return context


def tls_failure(peer: str, error: ssl.SSLError) -> HttpError:
    """Return the error for a TLS failure with ``peer``: temporary or permanent."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLEOFError) or any(word in reason for word in _PASSING):
        return ConnectionLost(f"The TLS connection to {peer} broke: {_reason(error)}.")
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsFailed(
            f"The certificate of {peer} is not trusted: {error.verify_message}.",
            hint="If this network has its own authority, name its PEM file in NODE_EXTRA_CA_CERTS.",
        )
    return TlsFailed(f"TLS with {peer} failed: {_reason(error)}.")


def _trust(context: ssl.SSLContext, source: str) -> None:
    try:
        if _is_pem(source):
            context.load_verify_locations(cadata=_unescaped(source))
        elif not _is_system_bundle(source):  # reading the same 140 authorities again costs 25 ms
            context.load_verify_locations(cafile=source)
    except (OSError, ValueError, TypeError) as error:
        raise _unusable("certificate authority", source, error) from error


def _is_system_bundle(path: str) -> bool:
    # None where OpenSSL does not use the system's store
    system = ssl.get_default_verify_paths().cafile or ""
    return os.path.realpath(path) == os.path.realpath(system)


def _identify(context: ssl.SSLContext, settings: TlsSettings) -> None:
    source = settings.client_certificate
    try:
        with _file_of(source) as certificate, _file_of(settings.client_key) as key:
            # Without a password given OpenSSL would ask for one on the terminal.
            context.load_cert_chain(certificate, key or None, lambda: settings.client_key_password)
    except (OSError, ValueError) as error:
        if isinstance(error, ssl.SSLError) and not error.reason and not settings.client_key:
            # OpenSSL has no words for a PEM without a key: "Unknown error 524297".
            raise _unusable("client certificate", source, _NO_KEY) from error
        raise _unusable("client certificate", source, error) from error


def _unusable(kind: str, source: str, error: Exception) -> TlsFailed:
    name = "given as PEM text" if _is_pem(source) else source
    return TlsFailed(
        f"The {kind} {name} cannot be loaded: {_reason(error)}.",
        hint="It must be a PEM file that exists, or PEM text.",
    )


@contextlib.contextmanager
def _file_of(source: str) -> Iterator[str]:
    """Return the path of ``source``; PEM text is written to a private file, as OpenSSL reads only
    files."""
    if not _is_pem(source):
        yield source
        return
    from pathlib import Path  # lazy, as the next import: only for PEM text, 8 ms
    from tempfile import mkstemp

    descriptor, path = mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(_unescaped(source))
        yield path
    finally:
        Path(path).unlink()


def _is_pem(source: str) -> bool:
    return "-----BEGIN " in source


def _unescaped(pem: str) -> str:
    return pem.replace("\\n", "\n")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    if isinstance(error, OSError):
        return os_reason(error)
    return " ".join(str(error).split())
