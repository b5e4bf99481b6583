from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

import pytest
import trustme

from pi.ai.http.errors import ConnectionLost, TlsFailed
from pi.ai.http.tls import TlsContext, TlsSettings, build_context, tls_failure


def test_a_context_verifies_host_names_and_certificates_and_requires_tls_1_2() -> None:
    context = build_context(TlsSettings(), {})

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_extra_authorities_are_added_to_those_of_the_system(authority_file: Path) -> None:
    system = build_context(TlsSettings(), {})
    extended = build_context(TlsSettings(extra_ca=str(authority_file)), {})

    assert len(extended.get_ca_certs()) == len(system.get_ca_certs()) + 1


async def test_a_context_is_built_once() -> None:
    tls = TlsContext(TlsSettings(), {})

    first, second = await asyncio.gather(tls.get(), tls.get())

    assert first is second is await tls.get()


def test_the_system_bundle_is_not_added_twice(caplog: pytest.LogCaptureFixture) -> None:
    bundle = ssl.get_default_verify_paths().cafile
    if bundle is None:
        pytest.skip("this system keeps its authorities elsewhere")

    context = build_context(TlsSettings(extra_ca=bundle), {"SSL_CERT_FILE": bundle})

    assert len(context.get_ca_certs()) == len(build_context(TlsSettings(), {}).get_ca_certs())
    assert caplog.text == ""


@pytest.mark.parametrize("pem", ["-----BEGIN CERTIFICATE-----x", "-----BEGIN ü-----"])
def test_invalid_authority_text_raises_an_error_that_does_not_contain_it(pem: str) -> None:
    with pytest.raises(TlsFailed) as caught:
        build_context(TlsSettings(extra_ca=pem), {})

    assert str(caught.value).startswith("The certificate authority given as PEM text cannot be")
    assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "no certificate", "-----BEGIN CERTIFICATE-----\nx\n"])
def test_an_unreadable_authority_of_the_settings_raises(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(TlsFailed) as caught:
        build_context(TlsSettings(extra_ca=str(path)), {})

    assert str(caught.value).startswith(f"The certificate authority {path} cannot be loaded: ")
    assert caught.value.hint


def test_an_unreadable_authority_of_the_environment_is_only_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        build_context(TlsSettings(), {"NODE_EXTRA_CA_CERTS": str(tmp_path / "gone.pem")})

    assert "NODE_EXTRA_CA_CERTS is ignored" in caplog.text


def test_an_unusable_client_certificate_raises(authority: trustme.CA, tmp_path: Path) -> None:
    ours, other = authority.issue_cert("a.example"), authority.issue_cert("b.example")
    certificate = ours.cert_chain_pems[0].bytes().decode()
    wrong_key = other.private_key_pem.bytes().decode()

    for settings, reason in (
        (TlsSettings(client_certificate=str(tmp_path / "gone.pem")), "No such file"),
        (TlsSettings(client_certificate=certificate), "CLAUDE_CODE_CLIENT_KEY names none"),
        (TlsSettings(client_certificate=certificate, client_key=wrong_key), "mismatch"),
    ):
        with pytest.raises(TlsFailed) as caught:
            build_context(settings, {})
        assert "-----BEGIN" not in str(caught.value)
        assert reason in str(caught.value)


def ssl_error(kind: type[ssl.SSLError], reason: str) -> ssl.SSLError:
    problem = kind(1, f"[SSL: {reason}] text (_ssl.c:1)")
    problem.reason = reason
    return problem


def test_a_damaged_tls_connection_is_reported_as_lost_and_not_as_untrusted() -> None:
    damaged = [
        tls_failure("a:1", ssl_error(ssl.SSLError, "DECRYPTION_FAILED_OR_BAD_RECORD_MAC")),
        tls_failure("a:1", ssl_error(ssl.SSLError, "SSLV3_ALERT_BAD_RECORD_MAC")),
        tls_failure("a:1", ssl_error(ssl.SSLEOFError, "UNEXPECTED_EOF_WHILE_READING")),
    ]
    wrong = [
        tls_failure("a:1", ssl_error(ssl.SSLError, "WRONG_VERSION_NUMBER")),
        tls_failure("a:1", ssl_error(ssl.SSLError, "TLSV1_ALERT_UNKNOWN_CA")),
    ]

    assert [type(problem) for problem in damaged] == [ConnectionLost] * 3
    assert [type(problem) for problem in wrong] == [TlsFailed] * 2
    assert str(wrong[0]) == "TLS with a:1 failed: wrong version number."
