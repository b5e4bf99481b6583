from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.base.installation import extra_command
from pi.cli.main import main
from pi.cli.subcommands.auth import seconds
from tests.cli.program import Program
from tests.sampling import sampled

Captured = pytest.CaptureFixture[str]
LATER = 9_000_000_000_000


def store(home: Path, entries: Any) -> Path:
    path = home / ".pi" / "agent" / "auth.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    path.chmod(0o600)
    return path


def login(expires: int) -> dict[str, Any]:
    return {"type": "oauth", "access": "token", "refresh": "r", "expires": expires}


@pytest.fixture
def run(tmp_path: Path, capsys: Captured) -> Any:
    """Runs ``pi auth …``: exit code, output, errors."""

    def ask(arguments: str, **environ: str) -> tuple[int, str, str]:
        code = main(["auth", *arguments.split()], {"HOME": str(tmp_path), **environ})
        return code, *capsys.readouterr()

    return ask


def test_a_provider_with_an_api_key_is_ready(run: Any) -> None:
    assert run("check --provider groq", GROQ_API_KEY="k") == (0, "ready\n", "")
    assert run("check --provider groq --json", GROQ_API_KEY="k") == (
        0,
        '{"status":"ready","provider":"groq","authType":"api_key"}\n',
        "",
    )


def test_the_source_of_a_credential_is_reported_but_never_its_value(run: Any) -> None:
    code, out, err = run("check --provider groq --json --credentials", GROQ_API_KEY="secret")

    assert json.loads(out)["credentials"] == {"source": "GROQ_API_KEY"}
    assert (code, err, "secret" in out) == (0, "", False)
    assert run("check groq --credentials", GROQ_API_KEY="k") == (
        0,
        "ready\n",
        "from GROQ_API_KEY\n",
    )


def test_a_provider_without_credentials_is_not_ready_and_a_hint_is_printed(run: Any) -> None:
    assert run("check --provider groq") == (
        1,
        "not_ready\n",
        "To use Groq, set GROQ_API_KEY or run `pi auth login groq`.\n",
    )
    code, out, _ = run("check --provider groq --json")
    assert (code, json.loads(out)["reason"]) == (1, "credentials_not_configured")


def test_an_unknown_provider_is_not_ready(run: Any) -> None:
    code, out, _ = run("check --provider gorq --json")
    _, _, reported = run("check --provider gorq")

    assert (code, json.loads(out)) == (
        1,
        {"status": "not_ready", "provider": "gorq", "reason": "provider_not_found"},
    )
    assert reported == 'Unknown provider "gorq". Did you mean groq?\n'


def test_the_provider_of_a_model_is_checked(run: Any) -> None:
    code, out, _ = run("check --model demo/tour --json")

    assert (code, json.loads(out)) == (0, {"status": "ready", "provider": "demo"})
    assert run("check --model zzz")[0] == 1


def test_a_broken_store_is_invalid(run: Any, tmp_path: Path) -> None:
    store(tmp_path, "{nope")

    code, out, err = run("check --provider groq --json")

    assert (code, json.loads(out), err) == (
        2,
        {"status": "invalid", "provider": "groq", "reason": "invalid_state"},
        "",
    )


def test_a_check_without_a_target_exits_with_2(run: Any) -> None:
    assert run("check") == (
        2,
        "",
        "Error: No provider given.\nUse --provider <name> or --model <pattern>.\n",
    )


def test_a_key_without_a_value_is_not_available(run: Any, tmp_path: Path) -> None:
    store(tmp_path, {"groq": {"type": "api_key", "key": "$NOT_SET"}})

    code, out, _ = run("check --provider groq --json")

    assert (code, json.loads(out)["reason"]) == (1, "credential_not_available")


def test_without_a_refresh_a_login_is_judged_by_its_time(run: Any, tmp_path: Path) -> None:
    path = store(tmp_path, {"anthropic": login(1), "xai": login(LATER)})
    before = path.read_bytes()

    code, out, _ = run("check --provider anthropic --no-refresh --json")
    good = run("check --provider xai --no-refresh --json --credentials")

    assert (code, json.loads(out)["reason"]) == (1, "credential_not_available")
    assert json.loads(good[1]) == {
        "status": "ready",
        "provider": "xai",
        "authType": "oauth",
        "credentials": {"source": str(path), "expires": LATER},
    }
    assert path.read_bytes() == before


def test_secrets_are_printed_by_kind(run: Any, tmp_path: Path) -> None:
    store(tmp_path, {"anthropic": login(LATER), "groq": {"type": "api_key", "key": "k"}})

    assert run("print-api-key --provider groq") == (0, "k\n", "")
    assert run("print-bearer-token --provider anthropic --min-expiry 5m") == (0, "token\n", "")
    assert run("print-bearer-token --provider groq") == (
        1,
        "",
        "Error: The credentials of groq are not a bearer token.\nTry `pi auth print-api-key`.\n",
    )
    assert run("print-api-key --provider anthropic") == (
        1,
        "",
        "Error: The credentials of anthropic are not an API key.\n"
        "Try `pi auth print-bearer-token`.\n",
    )


@pytest.mark.parametrize("arguments", ["--provider groq", "--provider unknown", "", "--model zzz"])
def test_printing_a_missing_key_exits_with_1_and_prints_nothing(run: Any, arguments: str) -> None:
    code, out, err = run(f"print-api-key {arguments}")

    assert (code, out) == (1, "") and err.startswith("Error: ")


@pytest.mark.parametrize(
    ("text", "value"), [("500ms", 0.5), ("30s", 30.0), ("5m", 300.0), ("2h", 7200.0)]
)
def test_durations_are_parsed_with_their_unit(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["5", "m", "-5m", "5 m", "1d"])
def test_an_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(PiError, match="Invalid --min-expiry"):
        seconds(text)


def test_login_stores_a_key_and_logout_removes_it(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    path = cli.agent_dir / "auth.json"

    stored = cli.run("auth", "login", "groq", piped="my $key\n")
    printed = cli.run("auth", "print-api-key", "groq")
    gone = cli.run("auth", "logout", "groq")
    again = cli.run("auth", "logout", "groq")

    assert (stored.code, stored.out) == (0, "")
    assert stored.err == f"API key for Groq: Saved in {path}.\n"
    assert printed.out == "my $key\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert gone.out == f"Removed groq from {path}\n"
    assert again.out == f"No stored credentials for groq in {path}\n"


def test_logout_without_a_provider_fails(run: Any) -> None:
    assert run("logout")[0] == 1


def test_an_unknown_action_suggests_the_nearest(run: Any) -> None:
    assert run("chek") == (
        1,
        "",
        "Error: Unknown command: auth chek\nDid you mean `pi auth check`?\n",
    )
    assert run("")[2].startswith("Error: Unknown command: auth\npi auth check; ")


def _with_module(cli: Program, name: str, *, installed: bool) -> None:
    """Have a package installed, or not, whatever this machine has."""
    folder = cli.home / "modules"
    package = folder.joinpath(*name.split("."))
    if installed:
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    else:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules[{name!r}] = None\n")
    cli.environ["PYTHONPATH"] = str(folder)


@pytest.mark.parametrize(
    ("provider", "module", "environ", "extra"),
    sampled(
        [
            ("amazon-bedrock", "botocore", {"AWS_PROFILE": "work"}, "bedrock"),
            (
                "google-vertex",
                "google.auth",
                {
                    "GOOGLE_CLOUD_PROJECT": "p",
                    "GOOGLE_CLOUD_LOCATION": "l",
                    "GOOGLE_APPLICATION_CREDENTIALS": "/dev/null",
                },
                "vertex",
            ),
        ],
        keep=1,
    ),
)
@pytest.mark.parametrize("installed", [True, False])
def test_a_cloud_provider_is_ready_only_if_the_package_for_its_credentials_is_installed(
    tmp_path: Path,
    provider: str,
    module: str,
    environ: dict[str, str],
    extra: str,
    installed: bool,
) -> None:
    cli = Program.below(tmp_path, **environ)
    _with_module(cli, module, installed=installed)

    ended = cli.run("auth", "check", provider)

    if installed:
        assert ended == (0, "ready\n", "")
        return
    assert (ended.code, ended.out) == (1, "not_ready\n")
    assert extra_command(extra) in ended.err
    examined = cli.run("doctor")
    assert examined.code == 1 and extra_command(extra) in examined.out
    answered = cli.run("-p", "--provider", provider, "hello")
    assert answered.code == 1 and extra_command(extra) in answered.err


def test_a_pair_of_keys_needs_no_package(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
    _with_module(cli, "botocore", installed=False)

    assert cli.run("auth", "check", "amazon-bedrock") == (0, "ready\n", "")
