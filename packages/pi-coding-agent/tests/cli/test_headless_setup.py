from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.mock_process import MockProcess
from tests.cli.program import ODD, Program
from tests.sampling import sampled


@pytest.mark.behaviour("start-without-a-key")
def test_without_any_credentials_a_hint_is_printed(tmp_path: Path) -> None:
    ended = Program.below(tmp_path).run("-p", "hello")

    assert (ended.code, ended.out) == (1, "")
    first, *help = ended.err.splitlines()
    assert first == "No API key found for the selected model."
    assert help[0].startswith("No model is selected. ")
    assert "ANTHROPIC_API_KEY" in help[0]
    assert "run `pi auth login`" in help[0] and "/login" not in help[0]  # no slash commands here


@pytest.mark.parametrize(
    ("model", "variable"),
    sampled(
        [
            ("openai/gpt-5", "OPENAI_API_KEY"),
            ("google/gemini-2.5-pro", "GEMINI_API_KEY"),
            ("groq/openai/gpt-oss-20b", "GROQ_API_KEY"),
            ("amazon-bedrock/us.anthropic.claude-opus-4-6-v1", "AWS_PROFILE"),
        ],
        keep=1,
    ),
)
def test_a_hint_names_the_variable_of_the_provider_that_was_chosen(
    tmp_path: Path, model: str, variable: str
) -> None:
    ended = Program.below(tmp_path).run("-p", "--model", model, "hello")

    assert ended.code == 1
    assert ended.err.startswith("No API key found for the selected model.\n")
    assert variable in ended.err and "ANTHROPIC_API_KEY" not in ended.err
    assert f"It is {model}. " in ended.err


@pytest.mark.full
def test_an_api_key_with_an_unset_variable_is_reported_by_every_command(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1")
    mine = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": "$MY_KEY",
        "models": [{"id": "m1"}],
    }
    cli.write("models.json", json.dumps({"providers": {"mine": mine}}))
    why = "The API key for mine in models.json has no value: MY_KEY is not set."

    for arguments in (("-p", "hello"), ("-p", "--model", "mine/m1", "hello")):
        assert why in cli.run(*arguments).err
    assert cli.run("--list-models", "mine") == (0, "", f"Warning: {why}\n")
    assert why in cli.run("--list-models").err
    assert cli.run("--list-models", "nothing-like-it") == (
        0,
        'No models matching "nothing-like-it"\n',
        "",
    )
    assert why in cli.run("doctor").out
    cli.environ |= {"PI_OFFLINE": "", "PI_NO_LOCAL": ""}
    ended = cli.run("-p", "hello")
    assert why in ended.err and "Fetching" not in ended.err  # no other model takes its place
    cli.environ |= {"PI_OFFLINE": "1", "MY_KEY": "k"}
    assert "m1" in cli.run("--list-models", "mine").out


@pytest.mark.behaviour("start-without-a-key")
def test_a_saved_default_without_credentials_is_skipped(cli: Program) -> None:
    cli.write("settings.json", '{"defaultProvider": "groq", "defaultModel": "openai/gpt-oss-20b"}')

    ended = cli.run("-p", "hello")

    assert (ended.code, ended.out) == (0, "The quick brown\n")


@pytest.mark.behaviour("model-ids-resolve-exactly")
@pytest.mark.parametrize("pattern", sampled([f"mock/{ODD}", ODD, f"{ODD}:low"], keep=1))
def test_a_model_is_found_by_its_exact_id_with_any_characters(
    cli: Program, server: MockProcess, pattern: str
) -> None:
    cli.run("-p", "--model", pattern, "hello")

    assert json.loads(server.log()[0].body)["model"] == ODD


@pytest.mark.behaviour("session-model-is-not-global")
def test_the_model_option_is_not_saved_in_the_settings(cli: Program) -> None:
    before = (cli.agent_dir / "settings.json").read_text()

    assert cli.run("-p", "--model", "mock/echo-3", "hello").code == 0

    assert (cli.agent_dir / "settings.json").read_text() == before


@pytest.mark.behaviour("broken-models-config")
def test_broken_models_are_named_with_file_and_reason(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    path = cli.write(
        "models.json",
        '{"providers": {"p": {"baseUrl": "http://x", "api": "openai-completions", "apiKey": "k",'
        ' "models": [{"id": "m", "contextWindow": "big"}]}}}',
    )

    ended = cli.run("-p", "--model", "demo/tour", "--no-tools", "hi")

    assert "Warning: errors loading models.json:\nInvalid models.json schema:\n" in ended.err
    assert "providers.p.models.0.contextWindow" in ended.err and str(path) in ended.err


@pytest.mark.full
@pytest.mark.behaviour("broken-models-config")
def test_of_a_model_only_the_id_is_required(cli: Program) -> None:
    assert cli.run("-p", "--model", "mock/echo-1", "hello") == (0, "The\n", "")


@pytest.mark.full
@pytest.mark.behaviour("tilde-expands")
def test_messages_name_the_real_agent_directory(cli: Program) -> None:
    cli.environ["PI_CODING_AGENT_DIR"] = "~/agent"
    (cli.home / "agent").mkdir()
    (cli.home / "agent" / "settings.json").write_text("{")

    ended = cli.run("-p", "--model", "demo/tour", "--no-tools", "hi")

    assert f"Warning: Invalid settings file {cli.home}/agent/settings.json: " in ended.err


@pytest.mark.full
@pytest.mark.parametrize("folder", sampled(["project", "agent", "config root", "home"], keep=1))
def test_a_dotenv_file_is_for_pi_and_not_for_its_commands(cli: Program, folder: str) -> None:
    models = cli.agent_dir / "models.json"
    models.write_text(models.read_text().replace('"k"', '"$MOCK_KEY"'))
    folders = {
        "project": cli.cwd,
        "agent": cli.agent_dir,
        "config root": cli.home / ".pi",
        "home": cli.home,
    }
    (folders[folder] / ".env").write_text("MOCK_KEY=secret\n")
    asking = ("-p", "--model", "mock/echo-3", "hello")

    trusting = cli.run("--approve", *asking)
    careful = cli.run("--no-approve", *asking)
    with cli.start("--approve", "--mode", "rpc", stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b'{"type": "bash", "command": "echo [$MOCK_KEY]"}\n')
        child.stdin.flush()
        reported = (json.loads(line) for line in child.stdout)
        seen = next(answer for answer in reported if answer["type"] == "response")["data"]["output"]
        child.stdin.close()

    assert (trusting.code, trusting.out) == (0, "The quick brown\n")
    assert careful.code == (1 if folder == "project" else 0)
    assert seen == "[]\n"


@pytest.mark.full
def test_the_oauth_client_settings_are_used_in_sessions(cli: Program) -> None:
    cli.environ["ANTHROPIC_OAUTH_TOKEN"] = "t"
    cli.write("settings.json", '{"oauthClients": {"anthropic": {"redirectPort": "none"}}}')

    ended = cli.run("-p", "--model", "anthropic/claude-opus-4-8", "hello")

    assert (ended.code, ended.out) == (1, "")
    assert 'The setting "oauthClients" for anthropic cannot be used: ' in ended.err


@pytest.mark.full
def test_a_negative_compaction_setting_exits_with_1(cli: Program) -> None:
    cli.write("settings.json", '{"compaction": {"reserveTokens": -1}}')

    assert cli.run("-p", "--model", "mock/echo-3", "hello") == (
        1,
        "",
        "Error: Invalid compaction.reserveTokens setting: -1."
        " Expected a non-negative safe integer.\n",
    )


@pytest.mark.behaviour("project-settings-merge")
def test_an_invalid_setting_is_reported_and_its_default_is_used(cli: Program) -> None:
    cli.write("settings.json", '{"bash": {"extended": "no"}, "theme": 5}')

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert (ended.code, ended.out) == (0, "The quick brown\n")
    assert sorted(ended.err.splitlines()) == [
        'Warning: Ignored setting "bash.extended": expected `bool`, got "no"',
        'Warning: Ignored setting "theme": expected `str | null`, got 5',
    ]


@pytest.mark.full
def test_the_tour_and_the_embedded_model_are_not_listed_beside_configured_models(
    cli: Program,
) -> None:
    requests = [{"type": "get_available_models"}, *[{"type": "cycle_model", "id": "c"}] * 9]
    piped = "".join(f"{json.dumps(request)}\n" for request in requests)
    reported = [json.loads(line) for line in cli.run("--mode", "rpc", piped=piped).out.splitlines()]
    answers = [event["data"] for event in reported if event["type"] == "response"]
    listed = [model["provider"] for data in answers for model in data.get("models", [])]
    cycled = [data["model"]["provider"] for data in answers if "model" in data]

    assert (set(listed), set(cycled), len(cycled)) == ({"mock"}, {"mock"}, 9)
    assert "demo" not in cli.run("models").out


def test_models_in_rpc_answers_carry_no_credentials(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1")
    provider = {
        "baseUrl": "https://ada:s3cret@127.0.0.1:9/v1?key=s4cret&x=",
        "apiKey": "s5cret",
        "api": "openai-completions",
        "headers": {"X-A": "s6cret"},
        "models": [
            {"id": "m", "headers": {"X-B": "s7cret"}},
            {"id": "n", "baseUrl": "https://s8cret@127.0.0.1:9/v1"},
        ],
    }
    cli.write("models.json", json.dumps({"providers": {"mine": provider}}))
    requests = [
        {"type": "set_model", "provider": "mine", "modelId": "m", "id": "set"},
        {"type": "get_available_models", "id": "all"},
        {"type": "get_state", "id": "state"},
        {"type": "cycle_model", "id": "next"},
    ]

    ended = cli.run(
        "--mode", "rpc", piped="".join(f"{json.dumps(request)}\n" for request in requests)
    )

    answers = {answer["id"]: answer for answer in map(json.loads, ended.out.splitlines())}
    assert "cret" not in ended.out + ended.err
    models = [model for model in answers["all"]["data"]["models"] if model["provider"] == "mine"]
    assert [model["baseUrl"] for model in models] == [
        "https://***@127.0.0.1:9/v1?key=***&x=",
        "https://***@127.0.0.1:9/v1",
    ]
    assert answers["set"]["data"] == models[0] == answers["state"]["data"]["model"]
    assert models[0]["headers"] == {"X-B": "***"}
    assert answers["next"]["data"]["model"] == models[1]


def test_rpc_mode_reports_which_key_is_missing(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": "$MY_KEY",
        "models": [{"id": "m"}],
    }
    cli.write("models.json", json.dumps({"providers": {"mine": provider}}))
    piped = '{"type": "prompt", "message": "hello"}\n'

    ended = cli.run("--mode", "rpc", "--model", "mine/m", piped=piped)

    first, *hints = json.loads(ended.out)["error"].splitlines()
    assert first == "No API key found for the selected model."
    assert "mine/m" in hints[0] and "MY_KEY is not set" in hints[0]
