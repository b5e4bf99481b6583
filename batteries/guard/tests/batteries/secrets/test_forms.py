"""Which names and values count as secrets, and the forms in which a value is found in a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import AssistantMessage, Message, Text, UserMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.secrets.adapter import extension
from pi.batteries.secrets.random_values import is_random_secret
from pi.batteries.secrets.requests import Masking
from pi.batteries.secrets.sources import Entry, from_environment
from pi.batteries.secrets.vault import PLACEHOLDER, Vault
from pi.coding.export.redaction import Redactor
from pi.extension import Model, ModelRequest
from tests.coding.extension_host.extension_session import extension_session

re2 = pytest.importorskip("re2")
MODEL = Model(id="m", name="M", api="a", provider="p")
ENGINES = pytest.mark.parametrize("engine", [re2, None], ids=["re2", "re"])
HEX = "4f2a9c1b7e6d5a3f8890abcdef123456"
BASE64 = "q7Zk3a9fGhJ2kLmN4pQ6rS8tUvWxYz0A1bC2dE3fG4hI="
SECRET = 'hunter2-"long"/value+of=mine'


def vault(*values: str, engine: Any = re2) -> Vault:
    made = Vault(b"k" * 32, re2=engine)
    made.update(Entry(content=value) for value in values)
    return made


SECRET_NAMES = (
    *("SECRET_KEY_BASE", "API_KEY_PROD", "MYSQL_PASSWORD_PROD", "PRIVATE_KEY_PEM", "SESSION_JWT"),
    *("_JWT", "GH_OAUTH", "_OAUTH", "API_BEARER", "_BEARER", "DB_PASS_TEST", "NPM_TOKENS_CI"),
    *(
        "PGPASSWORD",
        "PASSWORD_SALT",
        "STRIPE_SK",
        "SIGNING_PEPPER",
        "TS_AUTHKEY",
        "GITHUB_PAT",
        "SENTRY_DSN",
        "AWS_ACCESS_KEY_ID",
    ),
)
HARMLESS = {
    "MONKEY_ISLAND": "guybrush-threepwood",
    "PATH": "/usr/local/bin:/usr/bin",
    "GIT_AUTHOR_NAME": "Ada Lovelace-Byron",
    "KEYBOARD_LAYOUT": "us-international",
    "PWD": "/home/me/project",
    "SSH_AUTH_SOCK": "/tmp/ssh-abcdefgh/agent",
    "SSL_KEY_FILE": "/etc/ssl/private/server.key",
    "AUTH_PROVIDER": "keycloak",
    "OAUTH_URL": "https://login.example.com/oauth2",
    "TOKENIZERS_PARALLELISM": "disabled",
    "MAX_TOKENS": "123456789",
    "GITHUB_SHA": "4f2a9c1b7e6d5a3f8890abcdef1234567890abcd",
    "INVOCATION_ID": HEX,
    "BUILD_SOURCEVERSION": HEX,
}


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_word_anywhere_in_a_name_counts(name: str) -> None:
    assert [entry.content for entry in from_environment({name: "abcdefgh12"})] == ["abcdefgh12"]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_name_with_similar_letters_or_a_description_does_not_count(name: str) -> None:
    assert [*from_environment({name: HARMLESS[name]})] == []


@pytest.mark.parametrize("value", [HEX, BASE64, BASE64.replace("+", "-").rstrip("=")])
def test_a_long_random_value_counts_whatever_its_variable_is_called(value: str) -> None:
    assert [entry.content for entry in from_environment({"SALT_OF_MINE": value})] == [value]


@ENGINES
@pytest.mark.parametrize("name", SECRET_NAMES)
@pytest.mark.parametrize("form", ["{}=abcdefgh12", '"{}": "abcdefgh12"', "{} = 'abcdefgh12'"])
def test_a_secret_name_in_a_file_hides_the_value(name: str, form: str, engine: Any) -> None:
    text = f"A=1\n{form.format(name)}\nB=2"

    masked = vault(engine=engine).mask(text)

    assert PLACEHOLDER.sub("V", masked) == text.replace("abcdefgh12", "V")


@pytest.mark.parametrize("name", [name for name in SECRET_NAMES if "AWS" not in name])
def test_exports_without_the_battery_hide_them_as_well(name: str) -> None:
    assert Redactor().text(f"{name}=abcdefgh12") == f"{name}=[redacted]"
    for harmless, value in HARMLESS.items():
        if harmless not in ("SSL_KEY_FILE", "AUTH_PROVIDER", "OAUTH_URL", "TOKENIZERS_PARALLELISM"):
            assert Redactor().text(f"{harmless}={value}") == f"{harmless}={value}"


@ENGINES
@pytest.mark.parametrize(
    "line",
    [
        f"signing: {HEX}",
        f"webhook={BASE64}",
        f'  "salt": "{HEX}",',
        f'{{\\"salt\\":\\"{BASE64}\\"}}',
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY2EXAMPLEKEY",
    ],
)
def test_a_long_random_value_in_a_file_is_hidden(line: str, engine: Any) -> None:
    hidden = vault(engine=engine)

    masked = hidden.mask(line)

    assert len(PLACEHOLDER.findall(masked)) == 1
    assert not any(each in masked for each in (HEX, BASE64, "wJalr"))
    assert hidden.restore(masked) == line


@ENGINES
@pytest.mark.parametrize(
    "line",
    [
        f"commit {HEX}90abcdef",
        f'"sha": "{HEX}90abcdef"',
        f'"integrity": "sha512-{BASE64}{BASE64}"',
        f'checksum = "{HEX}{HEX}"',
        f"--hash=sha256:{HEX}{HEX}",
        f"golang.org/x/text v0.3.0/go.mod h1:{BASE64}",
        f'resolved "https://registry.example/a.tgz#{HEX}"',
        f'rev = "{HEX}90abcdef"',
        "id: 550e8400-e29b-41d4-a716-446655440000",
        f"requestId={HEX}",
        "path=/usr/lib/python3/dist-packages/FooBar2/baz/quux.py",
        "class=MuiButtonBase2RootContainerPrimaryElementOfDialog",
        "def a_function_name_that_is_long_enough_2=another_name_that_is_very_long_3",
    ],
)
def test_hashes_ids_paths_and_names_are_not_hidden(line: str, engine: Any) -> None:
    assert vault(engine=engine).mask(line) == line


def test_a_number_or_a_repetition_is_not_random() -> None:
    assert not is_random_secret("x", "1" * 40)
    assert not is_random_secret("x", "deadbeef" * 8)


SPLIT = {
    "colours of grep": SECRET.replace("hunter2", "\x1b[01;31m\x1b[Khunter2\x1b[m\x1b[K"),
    "a colour per letter": "".join(f"\x1b[3{n % 8}m{c}" for n, c in enumerate(SECRET)),
    "colours in JSON": SECRET.replace('"', '\\"').replace("value", "\\u001b[31mvalue"),
    "a line wrap": f"{SECRET[:9]}\n{SECRET[9:]}",
    "wraps with indentation": f"{SECRET[:9]}  \r\n    {SECRET[9:20]}\n\t{SECRET[20:]}",
    "a wrap in JSON": f"{SECRET[:5]}\\n  {SECRET[5:]}".replace('"', '\\"'),
    "JSON escapes": "".join(f"\\u{ord(letter):04X}" for letter in SECRET),
    "escaped slashes": SECRET.replace("/", "\\/").replace('"', "\\u0022"),
    "JSON in JSON": SECRET.replace('"', '\\\\\\"'),
    "invisible letters": "\u200b".join(SECRET),
    "colours of tput": f"{SECRET[:9]}\x1b(B\x1b[m{SECRET[9:]}",
    "colours of one byte": f"{SECRET[:9]}\x9b31m{SECRET[9:]}",
    "colours of cat -v": f"{SECRET[:9]}^[[31m{SECRET[9:]}",
    "letters printed twice": "".join(f"{letter}\b{letter}" for letter in SECRET),
    "a carriage return": f"{SECRET[:9]}\r{SECRET[9:]}",
    "a continued line": f"{SECRET[:9]}\\\n{SECRET[9:]}",
    "separators of lines": f"{SECRET[:9]}\u2028{SECRET[9:15]}\x85{SECRET[15:]}",
    "zero bytes": "\0".join(SECRET),
    "a quotation": f"{SECRET[:10]}\n> {SECRET[10:]}",
    "a comment": f"{SECRET[:10]}\n  // {SECRET[10:]}",
    "a diff": f"{SECRET[:10]}\n+{SECRET[10:]}",
    "a table": f"{SECRET[:10]} \u2502\n\u2502 {SECRET[10:]}",
    "numbered lines": f"   1\t{SECRET[:10]}\n   2\t{SECRET[10:]}",
    "a text in pieces": f'"{SECRET[:10]}"\n    "{SECRET[10:]}"',
    "quoted-printable": f"{SECRET[:10]}=\n{SECRET[10:]}",
    "codes with braces": "".join(f"\\u{{{ord(letter):x}}}" for letter in SECRET),
    "long codes": "".join(f"\\U{ord(letter):08x}" for letter in SECRET),
    "octal codes": "".join(f"\\{ord(letter):03o}" for letter in SECRET),
    "an address": "".join(f"%{ord(c):02x}" if not c.isalnum() else c for c in SECRET),
    "an address in an address": "".join(f"%25{ord(letter):02X}" for letter in SECRET),
    "entities": SECRET.replace('"', "&quot;").replace("+", "&#43;").replace("/", "&#x2f;"),
    "marks of direction": f"{SECRET[:9]}\u200e{SECRET[9:15]}\u202e{SECRET[15:]}",
    "tags": f"{SECRET[:9]}\U000e0041\ufe0f{SECRET[9:]}",
    "a comment of SQL": f"{SECRET[:10]}\n-- {SECRET[10:]}",
    "numbers without a sign": f"     1  {SECRET[:10]}\n     2  {SECRET[10:]}",
    "a diff of a merge": f"{SECRET[:10]}\n++{SECRET[10:]}",
    "marked ends of lines": f"{SECRET[:10]}$\n{SECRET[10:]}$",
    "names of files": f"a/b.py:1:{SECRET[:10]}\na/b.py:2:{SECRET[10:]}",
    "names of services": f"web-1  | {SECRET[:10]}\nweb-1  | {SECRET[10:]}",
    "a link": f"\x1b]8;;https://a.example/\x07{SECRET[:4]}\x1b]8;;\x07{SECRET[4:]}",
}


@ENGINES
@pytest.mark.parametrize("form", SPLIT)
def test_a_value_with_something_between_its_letters_is_found(form: str, engine: Any) -> None:
    hidden = vault(SECRET, "another-value-1", engine=engine)

    masked = hidden.mask(f"before {SPLIT[form]} after")

    assert PLACEHOLDER.search(masked), masked
    assert not any(piece in masked for piece in ("unter", "long", "alue", "mine"))
    assert SECRET in hidden.restore(masked)
    assert hidden.redact(f"{SPLIT[form]}").count("[redacted]") == 1


@ENGINES
@pytest.mark.parametrize(
    "form",
    [
        "p\"q r'\\''s+t/u",
        "p\"q r'\"'\"'s+t/u",
        "p\"q r''s+t/u",
        'p""q r\'s+t/u',
        "p%22q+r%27s%2Bt%2Fu",
    ],
)
def test_a_value_in_quotes_of_another_language_is_found(form: str, engine: Any) -> None:
    hidden = vault("p\"q r's+t/u", engine=engine)

    masked = hidden.mask(f"X='{form}'")

    assert PLACEHOLDER.sub("V", masked) == "X='V'"
    assert hidden.restore(masked) == f"X='{form}'"


@ENGINES
def test_an_unknown_key_with_colours_inside_is_found(engine: Any) -> None:
    key = f"ghp_{'a1' * 18}"
    hidden = vault(engine=engine)

    masked = hidden.mask(f"x \x1b[31mghp_\x1b[0m{key[4:]} y")

    assert "a1a1" not in masked
    assert key in hidden.restore(masked)


def test_words_in_a_sentence_are_no_split_value() -> None:
    text = "change me now\nand then, change\tme again \\ change me"

    assert vault("changeme-now", "changemeagain").mask(text) == text


def test_a_sign_at_a_wrap_that_belongs_to_the_value_is_found() -> None:
    value = "abcdefgh+ijklmnop"
    hidden = vault(value)
    for text in ("abcdefgh\n+ijklmnop", "abcdefgh\n12: +ijklmnop", "abcdefgh\n++ijklmnop"):
        masked = hidden.mask(f"x {text} y")
        assert PLACEHOLDER.sub("V", masked) == "x V y", text


def test_many_almost_matching_wraps_take_linear_time() -> None:
    hidden = vault("abcdefghijklmnop")
    text = "abcdefghijklmno" + " \n" * 200_000 + "x" + "abcdefghijklmnop\n"

    masked = hidden.mask(text)

    assert PLACEHOLDER.search(masked)


async def test_output_of_a_command_with_colours_and_wraps_reaches_no_provider(
    tmp_path: Path,
) -> None:
    sent: list[str] = []

    def last(request: Any) -> Any:
        sent.append(request.messages[-1].text)
        return says("ok")

    command = r"printf 'A_KEY=\033[31mabcde\033[0mfghij12\nabcde\n  fghij12\n'"
    steps = (calls("bash", command=command), last)
    settings, environ = {"secrets": {"enabled": True}}, {"A_KEY": "abcdefghij12"}
    async with extension_session(
        tmp_path, extension, steps=steps, settings=settings, environ=environ
    ) as hosted:
        await hosted.session.prompt("go")

    assert len(PLACEHOLDER.findall(sent[0])) == 2
    assert "fghij12" not in sent[0]


def test_messages_of_the_previous_request_are_not_masked_again() -> None:
    """The work of a turn depends on what is new; ``bench/scenarios/secrets.py`` measures it."""
    masking = Masking(vault("first-secret-1"))
    history: list[Message] = [
        UserMessage(content=(Text(text=f"{number} first-secret-1"),)) for number in range(100)
    ]
    first = masking.request(ModelRequest(model=MODEL, messages=tuple(history)))
    other = masking.request(ModelRequest(model=MODEL, messages=(UserMessage(content="a title"),)))

    history.append(AssistantMessage(content=(Text(text="first-secret-1"),)))
    second = masking.request(ModelRequest(model=MODEL, messages=tuple(history)))

    assert all(one is two for one, two in zip(first.messages, second.messages, strict=False))
    assert len(second.messages) == 101
    assert "first-secret-1" not in repr((second.messages, other.messages))


def test_a_changed_secret_masks_all_messages_again() -> None:
    hidden = vault("first-secret-1")
    masking = Masking(hidden)
    request = ModelRequest(model=MODEL, messages=(UserMessage(content="second-secret-2"),))
    assert "second-secret-2" in repr(masking.request(request).messages)

    hidden.update([Entry(content="second-secret-2")])

    assert "second-secret-2" not in repr(masking.request(request).messages)


def test_an_edited_beginning_is_masked_anew() -> None:
    masking = Masking(vault("first-secret-1"))
    one, two, three = (UserMessage(content=f"{n} first-secret-1") for n in range(3))
    masking.request(ModelRequest(model=MODEL, messages=(one, two)))

    masked = masking.request(ModelRequest(model=MODEL, messages=(three, two)))

    assert [str(each.content)[0] for each in masked.messages] == ["2", "1"]
    assert "first-secret-1" not in repr(masked.messages)
