from __future__ import annotations

from collections import Counter

from pi.cli.options import FLAGS

COMPAT = """\
--provider --model --api-key --thinking --models --list-models --mode -p --print -c --continue -r
--resume --session --session-id --fork --session-dir --no-session -n --name -t --tools -xt
--exclude-tools -nbt --no-builtin-tools -nt --no-tools -e --extension -ne --no-extensions --skill
-ns --no-skills --prompt-template -np --no-prompt-templates --theme --no-themes --use-theme -nc
--no-context-files --system-prompt --append-system-prompt --export --tui-mode --verbose -a
--approve -na --no-approve --no-mcp --offline -h --help -v --version
"""


OURS = [
    "--allow-custom-model",
    "--batteries",
    "--config",
    "--headless",
    "--json-schema",
    "--screen-reader",
]
"""Options that the original does not have; docs/compatibility.md lists them."""


def test_the_options_are_those_of_the_original_pi_and_a_few_more() -> None:
    names = [name for flag in FLAGS for name in (flag.name, flag.short) if name]

    assert sorted(names) == sorted([*COMPAT.split(), *OURS])


def test_no_name_is_used_twice() -> None:
    names = Counter(name for flag in FLAGS for name in (flag.name, flag.short, flag.field) if name)

    assert names.most_common(1)[0][1] == 1


def test_the_field_name_of_every_option_is_a_python_identifier() -> None:
    assert all(flag.field.replace("_", "").isalnum() for flag in FLAGS)


def test_every_option_has_help_and_a_value_has_a_name() -> None:
    assert [flag.name for flag in FLAGS if not flag.help] == []
    assert [flag.name for flag in FLAGS if (flag.kind == "switch") == bool(flag.value)] == []
