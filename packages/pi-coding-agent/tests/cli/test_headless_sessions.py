from __future__ import annotations

import json

import pytest

from bench.mock_process import MockProcess
from tests.cli.program import Program
from tests.cli.requests import last_prompts
from tests.sampling import sampled


def test_sessions_are_named_continued_and_opened_by_id(cli: Program, server: MockProcess) -> None:
    cli.run("-p", "--model", "mock/echo-3", "--name", "mine", "one")
    cli.run("-p", "--continue", "two")
    id = cli.sessions()[0][0]["id"]
    ended = cli.run("-p", "--session", id[:13], "three")

    assert ended.code == 0
    assert last_prompts(server) == ["one", "two", "three"]
    assert len(cli.sessions()) == 1
    assert any(line.get("name") == "mine" for line in cli.sessions()[0])


def test_unicode_line_ends_of_a_prompt_split_neither_the_session_file_nor_json_lines(
    cli: Program,
) -> None:
    prompt = "one\u2028two\u2029three\x85four"
    ended = cli.run("--mode", "json", "--model", "mock/echo-3", prompt)
    file = next(cli.agent_dir.glob("sessions/*/*.jsonl"))

    entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    events = [json.loads(line) for line in ended.out.splitlines()]

    stored = [entry["message"] for entry in entries if entry["type"] == "message"]
    sent = [event["message"] for event in events if event["type"] == "message_end"]
    for messages in (stored, sent):
        texts = [message["content"] for message in messages if message["role"] == "user"]
        assert texts == [[{"type": "text", "text": prompt}]]


def test_resume_with_an_id_a_prefix_or_a_path_opens_that_session(
    cli: Program, server: MockProcess
) -> None:
    cli.run("-p", "--model", "mock/echo-3", "one")
    id = cli.sessions()[0][0]["id"]
    file = next(cli.agent_dir.glob("sessions/*/*.jsonl"))

    codes = [cli.run("-p", "-r", value, "more").code for value in (id, id[:13], str(file))]

    assert codes == [0, 0, 0]
    assert last_prompts(server) == ["one", "more", "more", "more"]
    assert len(cli.sessions()) == 1
    assert cli.run("-p", "-r", id).err.startswith("Error: No prompt")


def test_an_unknown_session_is_an_error(cli: Program) -> None:
    assert cli.run("-p", "--session", "zzz", "hello") == (
        1,
        "",
        "No session found matching 'zzz'\n",
    )


@pytest.mark.full
def test_a_session_of_another_folder_is_not_forked_without_a_terminal(cli: Program) -> None:
    cli.run("-p", "--model", "mock/echo-3", "one")
    id = cli.sessions()[0][0]["id"]
    in_another_place = Program(cli.home, cli.home, cli.environ)

    ended = in_another_place.run("-p", "--session", id, "two")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"Error: Session found in another project: {cli.cwd}\n"
        "Run pi there, or use --fork <id> to continue in a copy here.\n"
    )


def test_an_id_that_is_new_begins_a_session(cli: Program) -> None:
    ended = cli.run("-p", "--model", "mock/echo-3", "--session-id", "nightly", "hello")

    assert ended.err == (
        "Warning: No project session found with id 'nightly';"
        " creating a new session with that id.\n"
    )
    assert cli.sessions()[0][0]["id"] == "nightly"


@pytest.mark.full
def test_nothing_is_saved_with_no_session(cli: Program) -> None:
    assert cli.run("-p", "--no-session", "--model", "mock/echo-3", "hello").code == 0
    refused = cli.run("-p", "--no-session", "--continue", "hello")

    assert cli.sessions() == []
    assert (refused.code, refused.err) == (
        1,
        "Error: --continue needs saved sessions, but sessions are not saved in this run.\n"
        "Remove --no-session.\n",
    )


@pytest.mark.full
@pytest.mark.behaviour("tilde-expands")
@pytest.mark.parametrize("how", sampled(["flag", "variable", "setting"], keep=1))
def test_a_tilde_in_the_session_directory_is_the_home_folder(cli: Program, how: str) -> None:
    arguments: tuple[str, ...] = ()
    match how:
        case "flag":
            arguments = ("--session-dir", "~/kept")
        case "variable":
            cli.environ["PI_CODING_AGENT_SESSION_DIR"] = "~/kept"
        case _:
            cli.write("settings.json", '{"sessionDir": "~/kept"}')

    cli.run("-p", *arguments, "--model", "mock/echo-3", "one")
    again = cli.run("-p", *arguments, "--continue", "two")

    assert again.code == 0
    assert len(list((cli.home / "kept").glob("*.jsonl"))) == 1


@pytest.mark.parametrize("mode", sampled(["text", "json", "rpc"], keep=1))
def test_a_session_that_cannot_be_saved_is_reported_once_and_exits_with_1(
    cli: Program, mode: str
) -> None:
    (cli.agent_dir / "sessions").write_text("a file where a folder should be")
    piped = '{"type": "set_session_name", "name": "kept"}\n' if mode == "rpc" else ""
    arguments = () if mode == "rpc" else ("-p", "hello")

    ended = cli.run("--mode", mode, "--model", "mock/echo-3", *arguments, piped=piped)

    (reported,) = ended.err.splitlines()
    assert reported.startswith("The session is no longer saved, it continues in memory: ")
    assert ended.code == 1


@pytest.mark.full
def test_a_session_directory_of_an_unknown_user_is_a_clear_error(cli: Program) -> None:
    cli.write("settings.json", '{"sessionDir": "~no-such-user/x"}')

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")
    examined = cli.run("doctor")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "Error: Cannot use the path ~no-such-user/x: there is no home directory for"
        " ~no-such-user.\nWrite the whole path.\n"
    )
    assert "✗ sessions      Cannot use the path ~no-such-user/x" in examined.out


@pytest.mark.full
@pytest.mark.parametrize("key", sampled(["skills", "prompts", "extensions"], keep=1))
def test_a_resource_of_an_unknown_user_does_not_stop_the_start(cli: Program, key: str) -> None:
    cli.write("settings.json", f'{{"{key}": ["~no-such-user/x"]}}')

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert (ended.code, "Traceback" in ended.err) == (0, False)
