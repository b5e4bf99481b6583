from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.ambient import has_credentials


@pytest.mark.parametrize(
    ("environ", "there"),
    [
        ({}, False),
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}, False),
        ({"AWS_ACCESS_KEY_ID": "a"}, False),
        ({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, True),
        ({"AWS_PROFILE": "work"}, True),
        ({"AWS_PROFILE": ""}, False),
        ({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"}, True),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x"}, True),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/x"}, True),
    ],
)
def test_aws_credentials_are_detected_from_environment_variables(
    environ: dict[str, str], there: bool
) -> None:
    assert has_credentials("aws", environ) is there


def test_google_credentials_need_a_project_a_location_and_a_credential_file(tmp_path: Path) -> None:
    file = tmp_path / "adc.json"
    everything = {
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "l",
        "GOOGLE_APPLICATION_CREDENTIALS": str(file),
        "HOME": str(tmp_path),
    }

    assert has_credentials("google", everything)
    for missing in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        assert not has_credentials("google", {**everything, missing: ""})
    assert not has_credentials("google", {**everything, "GOOGLE_APPLICATION_CREDENTIALS": ""})
