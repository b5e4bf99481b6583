"""Lists secret variables and values, for child processes, exports and logs. Pure.

It is derived from the provider tables, ``models.json`` and ``auth.json``, so a new row of a table
is covered automatically.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pi.ai.auth import ambient, anthropic_gateway
from pi.ai.auth.config_values import escape, interpolated, names_in
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.ai.providers.discovered import SERVER_ROWS
from pi.ai.providers.rows import BUILT_IN
from pi.base.formats import BadFormat, parse_jsonc
from pi.base.records import Record

SHORTEST_PART = 16
"""Minimum length of a secret that is searched for inside the value of another variable."""

# Patterns are compiled when they are first used, not at import, which every start pays for.

PUBLIC_HEADERS = (
    r"(?i)accept(-.*)?|content-.*|user-agent|host|origin|(http-)?referer|connection|cache-control"
    r"|x-title|x-client-name|anthropic-(beta|version)|openai-beta"
)
"""Headers that name a program or a format. Their text is not secret; their variables are."""

EVERYDAY = (
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|HOSTNAME|LANG|LC_.*|TERM|TMPDIR|TZ|XDG_.*|EDITOR"
    r"|VISUAL|PAGER|USERNAME|USERPROFILE|(LOCAL)?APPDATA|SYSTEMROOT|COMSPEC|TE?MP"
)
"""Variables that programs need. A reference, as in ``$HOME/key``, does not make one a secret."""

_PUBLIC_VARIABLE = (
    r"(?i).*(region|location|zone|profile|project|project_id|account|account_id|gateway|gateway_id"
    r"|url|uri|host|endpoint|version|deployment|deployment_name(_map)?|resource(_name)?|file|dir"
    r"|path)"
)
"""Variables in the ``env`` of an entry that name a place or an account, not a secret."""

_SECRET_MEMBER = (
    r"(?i)(.*(api|access|auth|client|private|secret|subscription)[_-]?)?key"
    r"|.*(token|secret|password|passphrase|credentials?|authorization|cookie)|access|refresh"
)
"""Members of a JSON object whose text is a secret."""

_SCHEME = r"(?i)(?:bearer|basic|token|digest|negotiate|api-?key|key)\s+(\S.*)"
"""The scheme of an ``Authorization`` header; the secret also appears without it."""

_PATH = r"[/~.\\]|[A-Za-z]:[/\\]"
"""The start of a file path, in a variable that holds either a key or its file."""

_QUOTED = r'"((?:[^"\\\n]|\\.)*)"'
_SHORTEST_QUOTED = 16
"""Minimum length of a string in a damaged file that may be a key."""


class Secrets(Record):
    """Secret variables and texts. Combine two with ``|``."""

    names: frozenset[str] = frozenset()
    """Variables that hold a secret."""
    texts: frozenset[str] = frozenset()
    """Secrets in value syntax, as files contain them."""

    def __or__(self, other: Secrets) -> Secrets:
        """Return the union."""
        return Secrets(names=self.names | other.names, texts=self.texts | other.texts)

    def values(self, environ: Mapping[str, str]) -> Iterator[str]:
        """Yield all values to redact; runs no command."""
        secrets = [
            interpolated(text, environ) or text
            for text in sorted(self.texts)
            if not _is_reference(text) or interpolated(text, environ)
        ]
        for name in sorted(self.names):
            secrets += _variable_values(name, environ)
        for value in secrets:
            yield value
            if without_scheme := re.fullmatch(_SCHEME, value):
                yield without_scheme[1]


def together(parts: Iterable[Secrets]) -> Secrets:
    """Return the union of ``parts``."""
    names, texts = set[str](), set[str]()
    for part in parts:
        names |= part.names
        texts |= part.texts
    return Secrets(names=frozenset(names), texts=frozenset(texts))


def collected(
    *,
    rows: Iterable[Provider],
    clients: Mapping[str, Json],
    models: Iterable[str],
    logins: Iterable[Json],
    damaged: Iterable[str],
) -> Secrets:
    """Return the secrets of provider rows, OAuth clients, contents of ``models.json`` and of
    ``auth.json``, and files that cannot be parsed."""
    parts = [of_rows(rows), of_clients(clients)]
    parts += map(of_models_json, models)
    parts += map(of_auth_json, logins)
    parts += map(of_damaged, damaged)
    return together(parts)


def of_rows(rows: Iterable[Provider]) -> Secrets:
    """Return the variables of providers, and the secrets in their rows."""
    rows = tuple(rows)
    names = {name for row in rows for name in (*row.key_variables, *row.token_variables)}
    secrets = together(_of_text(text) for row in rows for text in row.secrets)
    return Secrets(names=frozenset(names)) | secrets


def of_tables() -> Secrets:
    """Return the secrets of all built-in providers, model servers, clouds and the Anthropic
    gateway."""
    others = frozenset((*ambient.SECRET_VARIABLES, *anthropic_gateway.SECRET_VARIABLES))
    return of_rows((*BUILT_IN, *SERVER_ROWS)) | Secrets(names=others)


def of_header(name: str, text: str) -> Secrets:
    """Return the secrets of a header whose value is in value syntax."""
    if re.fullmatch(PUBLIC_HEADERS, name):
        return Secrets(names=_names(text))
    if name.lower() != "cookie" or text.startswith("!"):
        return _of_text(text)
    pairs = (pair.partition("=")[2].strip() for pair in text.split(";"))
    return _of_text(text) | together(_of_text(value) for value in pairs if value)


def of_models_json(text: str) -> Secrets:
    """Return the secrets of ``models.json``: keys, headers, and every variable that it
    refers to."""
    try:
        document = parse_jsonc(text)
    except BadFormat:
        return of_damaged(text)
    secrets = _of_member("", document)
    providers = document.get("providers") if isinstance(document, dict) else None
    # Users write the name of a server that accepts any key: "apiKey": "ollama".
    public_words = {row.id for row in (*BUILT_IN, *SERVER_ROWS)} | {*_object(providers)}
    public_words = {word.casefold() for word in public_words}
    secret = frozenset(text for text in secrets.texts if text.casefold() not in public_words)
    return Secrets(names=secrets.names, texts=secret)


def of_auth_json(entries: Json) -> Secrets:
    """Return the secrets of ``auth.json``, also of entries that this version does not know."""
    return together(_of_entry(_object(entry)) for entry in entries.values())


def of_clients(clients: Mapping[str, Json]) -> Secrets:
    """Return the secrets of the setting ``oauthClients``."""
    return _of_member("", dict(clients))


def of_damaged(text: str) -> Secrets:
    """Return possible secrets of an invalid JSON file: variables, and strings as long as a key."""
    strings = (match[1] for match in re.finditer(_QUOTED, text))
    literals = (
        string
        for string in strings
        if len(string) >= _SHORTEST_QUOTED and not re.search(r"[\s$]|://", string)
    )
    return Secrets(names=_names(text), texts=frozenset(map(escape, literals)))


# --------------------------------------------------------------------------------------------------


def _variable_values(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    value = environ.get(name)
    if not value:
        return
    if name == anthropic_gateway.CUSTOM_HEADERS:
        headers = anthropic_gateway.custom_headers(environ).items()
        yield from together(of_header(*header) for header in headers).values({})
    elif name != anthropic_gateway.CLIENT_KEY:
        yield value
    elif not re.match(_PATH, value):
        yield value
        yield from (line for line in value.splitlines() if not line.startswith("-----"))


def _names(text: str) -> frozenset[str]:
    if "$" not in text:
        return frozenset()
    return frozenset(name for name in names_in(text) if not re.fullmatch(EVERYDAY, name))


def _is_reference(text: str) -> bool:
    """Whether a text consists of variables only."""
    return re.fullmatch(r"(\$(\w+|\{\w+\}))+", text, re.ASCII) is not None


def _of_text(text: str) -> Secrets:
    """A secret in value syntax. The output of a command is known only after it has run."""
    names = _names(text)
    if not text or text.startswith("!") or (_is_reference(text) and not names):
        return Secrets(names=names)
    return Secrets(names=names, texts=frozenset({text}))


def _of_literal(text: str) -> Secrets:
    """A secret that is used literally."""
    return Secrets(names=_names(text), texts=frozenset({escape(text)} - {""}))


def _of_member(name: str, value: Any) -> Secrets:
    match value:
        case dict() if name.lower().endswith("headers"):
            texts = {key: text for key, text in value.items() if isinstance(text, str)}
            return together(of_header(key, text) for key, text in texts.items())
        case dict():
            return together(_of_member(key, member) for key, member in value.items())
        case list():
            return together(_of_member(name, member) for member in value)
        case str() if re.fullmatch(_SECRET_MEMBER, name):
            return _of_text(value)
        case str():
            address = _of_address(value) if "://" in value else Secrets()
            return Secrets(names=_names(value)) | address
    return Secrets()


def _of_entry(entry: Json) -> Secrets:
    secrets: list[Secrets] = []
    for name, value in entry.items():
        if name == "env":
            secrets += (
                _of_literal(text) | Secrets(names=frozenset({variable}))
                for variable, text in _object(value).items()
                if isinstance(text, str) and not re.fullmatch(_PUBLIC_VARIABLE, variable)
            )
        elif name in ("access", "refresh") and isinstance(value, str):
            secrets.append(_of_literal(value))
        elif name != "type":
            secrets.append(_of_member(name, value))
    return together(secrets)


_LONG_USER = 20
"""Characters from which a user name is taken for a token, as in ``https://TOKEN:x-oauth-basic@``."""


def _of_address(url: str) -> Secrets:
    """The password and the keys in a URL; a token can be in the place of the user name."""
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return Secrets()
    is_token = not password or len(user) >= _LONG_USER
    keys = [value for name, value in parse_qsl(parts.query) if re.fullmatch(_SECRET_MEMBER, name)]
    credentials = (password, user if is_token else "")
    return together(
        map(_of_literal, filter(None, (*credentials, *map(unquote, credentials), *keys)))
    )


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
