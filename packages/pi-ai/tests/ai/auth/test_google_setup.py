from __future__ import annotations

from pathlib import Path

from pi.ai.auth.ambient import credential_file


def test_the_gcloud_credential_file_is_used_when_no_other_is_configured(tmp_path: Path) -> None:
    login = tmp_path / "application_default_credentials.json"
    environ = {"CLOUDSDK_CONFIG": str(tmp_path)}
    assert credential_file(environ) is None

    login.write_text("{}")

    assert credential_file(environ) == login
    named = {**environ, "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "other.json")}
    assert credential_file(named) == tmp_path / "other.json"
