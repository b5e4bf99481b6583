"""Names of variables that hold secrets, and names whose random value is none. Pure."""

from __future__ import annotations

import re

LONG_WORDS = (
    *("SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "BEARER", "OAUTH"),
    *("JWT", "APIKEY", "AUTHKEY", "ACCESSKEY", "PRIVATEKEY", "SIGNINGKEY", "PASSCODE"),
    *("MNEMONIC", "AUTHORIZATION", "DBPASS", "SMTPPASS", "MAILPASS", "USERPASS", "ROOTPASS"),
)
"""Words that mean a secret wherever they are in a name, as in ``PGPASSWORD``."""
SHORT_WORDS = (
    *("KEY", "KEYS", "PASS", "PWD", "AUTH", "COOKIE", "COOKIES", "DSN", "PAT", "PW", "CREDS"),
    *("CRED", "OTP", "TOTP", "SALT", "PEPPER", "HMAC", "SK"),
)
"""Words that mean a secret between separators: ``API_KEY_PROD``, but neither ``MONKEY_ISLAND`` nor
``PATH``."""
NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})

_SECRET = re.compile(
    rf"(?i)(?:{'|'.join(LONG_WORDS)})"
    rf"|(?:^|[_.-])(?:{'|'.join(SHORT_WORDS)})(?:$|[_.-])|CONNECTION_?STRING|KEY$"
)
_LOCATION = re.compile(r"(?i)(?:^|[_.-])(?:FILE|PATH|DIR|FOLDER|SOCK|SOCKET|HOME)$")
_ADDRESS = re.compile(r"(?i)(?:^|[_.-])(?:URL|URI|ENDPOINT|HOST|ISSUER)$")
_DESCRIPTION = re.compile(
    r"(?i)(?:^|[_.-])(?:TYPE|KIND|NAME|ALG|ALGORITHM|PROVIDER|BACKEND|METHOD|MODE|STRATEGY|HELPER|"
    r"MANAGER|STORE|SCHEME|DRIVER|ENABLED|PARALLELISM|REQUIRED|FORMAT)$"
)
_AMOUNT = re.compile(r"(?i)(?:^|[_.-])(?:MAX|MIN|LIMIT|COUNT|NUM|BUDGET|TTL|SECONDS)(?:$|[_.-])")
_HASH = re.compile(
    r"(?i)sha\d*|md5|hash|checksum|digest|integrity|fingerprint|etag|blake|crc|commit|revision|"
    r"reference|version|uuid|guid|trace|(?:^|[_.-])(?:h1|zh|rev|ref|tree|parent|object|oid|blob|"
    r"head|base|span|build|id|ids|resolved)$"
)


def is_secret_name(name: str, value: str) -> bool:
    """Whether a variable holds a secret because of its name.

    ``value`` is needed for names such as ``KEY_FILE`` and ``AUTH_TYPE``, which describe a secret: a
    path, an address without credentials, a number or a plain word in them is not hidden.
    """
    if name.upper() in NOT_SECRET or not _SECRET.search(name):
        return False
    if _LOCATION.search(name) and value.startswith(("/", "~", "./", "../")):
        return False
    if _ADDRESS.search(name) and re.fullmatch(r"https?://[^@?#]*|[\w.-]+(?::\d+)?", value):
        return False
    if _AMOUNT.search(name) and value.isdigit():
        return False
    return not (_DESCRIPTION.search(name) and re.fullmatch(r"[A-Za-z][A-Za-z_.:-]*", value))


def names_hash(name: str) -> bool:
    """Whether a name says that a random value is a hash, a revision or an id, not a secret."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)  # requestId
    return _HASH.search(plain) is not None
