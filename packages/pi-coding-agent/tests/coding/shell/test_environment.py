from __future__ import annotations

import pytest

from pi.ai.auth.secrets import of_tables
from pi.coding.shell.environment import (
    MARKER_VARIABLES,
    UNATTENDED,
    EnvironmentRules,
    Withheld,
    command_environment,
    program_environment,
    service_environment,
    set_by_profiles,
    withheld_variables,
)

OURS = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "EDITOR": "vi",
    "ANTHROPIC_API_KEY": "secret",
    "OPENAI_API_KEY": "secret",
    "FROM_FILE": "secret",
    "GIT_DIR": "/elsewhere/.git",
    "GIT_AUTHOR_NAME": "Me",
    "PI_SESSION_ID": "outer",
    "MY_TOKEN": "mine",
}
RULES = EnvironmentRules(
    credentials=of_tables().names, from_dotenv=frozenset({"FROM_FILE"}), deny=("MY_*",)
)


@pytest.mark.behaviour("child-environment-is-clean")
def test_commands_get_the_environment_of_the_user_without_withheld_variables() -> None:
    assert command_environment(OURS, RULES) == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "EDITOR": "vi",
        "GIT_AUTHOR_NAME": "Me",
        **UNATTENDED,
        **MARKER_VARIABLES,
    }


def test_withheld_variables_are_listed_with_their_reason_and_without_their_value() -> None:
    assert withheld_variables(OURS, RULES) == [
        Withheld(name="ANTHROPIC_API_KEY", reason="credential"),
        Withheld(name="FROM_FILE", reason="dotenv"),
        Withheld(name="GIT_DIR", reason="git"),
        Withheld(name="MY_TOKEN", reason="denied"),
        Withheld(name="OPENAI_API_KEY", reason="credential"),
        Withheld(name="PI_SESSION_ID", reason="session"),
    ]


def test_allowed_variables_are_passed_unless_denied() -> None:
    rules = EnvironmentRules(
        credentials=frozenset({"A_KEY", "B_KEY"}),
        allow=("*_KEY", "GIT_DIR"),
        deny=("B_KEY",),
    )
    seen = command_environment({"A_KEY": "1", "B_KEY": "2", "GIT_DIR": "3"}, rules)

    assert {name: seen.get(name) for name in ("A_KEY", "B_KEY", "GIT_DIR")} == {
        "A_KEY": "1",
        "B_KEY": None,
        "GIT_DIR": "3",
    }


def test_a_variable_of_another_name_that_holds_a_secret_is_withheld() -> None:
    environ = {
        "COPY": "a secret",
        "LONG": "key=a-rather-long-secret;",
        "PATH": "/opt/a-rather-long-secret/bin",
        "OTHER": "not a secret",
        "SHORT": "true",
        "LET_THROUGH": "a secret",
    }
    secrets = frozenset({"a secret", "a-rather-long-secret", "true"})
    rules = EnvironmentRules(secrets=secrets, allow=("LET_*",))

    seen = command_environment(environ, rules).keys() & environ.keys()
    assert seen == {"PATH", "OTHER", "SHORT", "LET_THROUGH"}


def test_interactive_programs_get_the_same_environment_without_unattended_settings() -> None:
    assert program_environment(OURS, RULES) | UNATTENDED == command_environment(OURS, RULES)
    assert program_environment(OURS, RULES)["EDITOR"] == "vi"
    assert not UNATTENDED.keys() & program_environment(OURS, RULES).keys()


def test_credentials_set_by_profiles_are_unset_unless_allowed() -> None:
    rules = EnvironmentRules(credentials=frozenset({"A_KEY", "B_KEY"}), allow=("B_*",))

    assert set_by_profiles(rules) == ("A_KEY",)


def test_services_see_only_allowed_variables() -> None:
    assert service_environment(OURS | {"LC_ALL": "C"}) == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LC_ALL": "C",
        **MARKER_VARIABLES,
    }
