"""Recognises likely secrets: an environment variable called DB_PASSWORD, a connection string, an address with a password.

A false positive means that a value is typed in once more; a false negative, that a password is copied."""

import re
from collections.abc import Iterable, Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = {
    *("password", "passwd", "passphrase", "pwd", "pass", "pw", "secret", "token", "credential", "credentials"),
    *("apikey", "accesskey", "accountkey", "privatekey", "connectionstring", "connstr", "sas", "pat"),
}
_KEYS = {
    *("access", "account", "api", "encryption", "license", "master"),
    *("primary", "private", "secret", "shared", "storage", "workspace"),
}
# DB_PASSWORD_FILE is the place of the secret.
_ABOUT_A_SECRET = {
    *("dir", "endpoint", "expiry", "file", "folder", "id", "length"),
    *("limit", "name", "path", "ttl", "type", "uri", "url"),
}
_TEXT = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@"  # https://user:password@host
    r"|://[^/\s:@]{20,}@"  # https://token@host
    r"|(?<![\w.-])[\w.-]+:[^\s:@/]+@(?:tcp|unix)\("  # user:password@tcp(host:3306)/db, a data source of Go
    r"|(?:AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd)\s*=\s*[^;\s]"
    r"|[?&]sig=[^&\s]"
    r"|--?(?:password|token|api-?key|secret|account-?key)[= ]\S"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bgh[pousr]_[A-Za-z0-9]{20}|\bhf_[A-Za-z0-9]{20}|\bsk-[A-Za-z0-9_-]{20}|(?<![\w-])eyJ[\w-]{10,}\.eyJ",
    re.IGNORECASE,
)
# `user:token@` before the host, with or without a scheme, also of a token that isn't encoded; no @ follows a port at once.
_LOGIN = re.compile(r"(?:(?<=://)(?:[^/\s]*|[^/\s:]*:(?!\d{1,5}/)\S*)|^[^/\s:]+:[^/\s@]+)(?=@)")
_QUERY = re.compile(r"(?<=\?)[^\s#]+")
_HIDDEN = "***"


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name is likely to hold a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT_A_SECRET:
        return False
    pairs = zip(words, [*words[1:], ""], strict=True)
    return any(
        word in _SECRET_WORDS or (word in _KEYS and after in ("key", "keys")) or (word == "connection" and after == "string")
        for word, after in pairs
    )


def holds_secret(text: str) -> bool:
    """Whether a secret is likely to be part of the text."""
    return _TEXT.search(text) is not None


def without_login(address: str) -> str:
    """The address without what may be a login: what stands before the host, and after a question mark."""
    return _QUERY.sub(_HIDDEN, _LOGIN.sub(_HIDDEN, address))


def without_secrets(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """A program's arguments without what is likely to be a secret, and names of that. `--password` takes its value along."""
    kept: list[str] = []
    left: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, _ = word.partition("=")
        if is_secret_name(name) and (equals or name.startswith("-")):
            left.append(name)
            if not equals:
                next(rest, None)
        elif holds_secret(word):
            left.append("an argument")
        else:
            kept.append(word)
    return kept, left


def check_login(address: str, path: str, *, allowed: str, fix: str) -> Iterator[Problem]:
    """Rejects a login within an address: everybody who may read the resource in Azure, or the deployment, would have it.

    `allowed`, `fix`: how the same is read without a login.
    """
    shown = without_login(address)
    if shown != address:
        yield refused("address.login", path, shown, allowed=allowed, instead_of_it=fix)
