"""Rules for a machine's administrator: name, SSH key and password. No problem shows a key or a password."""

import re
from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import observed

API = observed("pulumi-azure-native 3.29.0, compute 2024-11-01, OSProfile", 2026, 11, 20)
RSA, ED25519 = "ssh-rsa", "ssh-ed25519"
SHORTEST_RSA_BITS = 2048
REFUSED_NAMES = frozenset(
    (
        "administrator", "admin", "user", "user1", "test", "user2", "test1", "user3", "admin1", "1", "123", "a",
        "actuser", "adm", "admin2", "aspnet", "backup", "console", "david", "guest", "john", "owner", "root",
        "server", "sql", "support", "support_388945a0", "sys", "test2", "test3", "user4", "user5",
    )
)  # fmt: skip
REFUSED_PASSWORDS = frozenset(
    (
        "abc@123",
        "P@$$w0rd",
        "P@ssw0rd",
        "P@ssword123",
        "Pa$$word",
        "pass@word1",
        "Password!",
        "Password1",
        "Password22",
        "iloveyou!",
    )
)
LONGEST_NAME = {"Linux": 64, "Windows": 20}
PASSWORD_LENGTH = (8, 123)  # of Windows
_KINDS_OF_CHARACTERS = (r"[a-z]", r"[A-Z]", r"\d", r"[\W_]")
_LINUX_NAME = r"[a-z_][a-z0-9_-]*"


def user_problems(name: str, operating_system: OperatingSystem, path: str) -> Iterator[Problem]:
    longest = LONGEST_NAME[operating_system]
    if name.lower() in REFUSED_NAMES:
        yield refused("admin.rejected_name", path, name)
    elif not 1 <= len(name) <= longest:
        yield refused("admin.name_length", path, name, longest=longest)
    elif operating_system == "Windows" and (name.endswith(".") or re.search(r'["/\\\[\]:;|=,+*?<>@]', name)):
        yield refused("admin.bad_windows_name", path, name)
    elif operating_system == "Linux" and not re.fullmatch(_LINUX_NAME, name):
        yield refused("admin.bad_linux_name", path, name)


def key_problems(text: str, path: str) -> Iterator[Problem]:
    """The problems of a public key, one line as in ~/.ssh/id_ed25519.pub."""
    if "PRIVATE KEY" in text:
        yield refused("admin.private_key", path)
        return
    words = text.split()
    if len(words) < 2 or len(text.strip().splitlines()) != 1 or words[0] not in (RSA, ED25519):
        kind = f" (type {words[0]})" if words and re.fullmatch(r"(?:ecdsa|sk|ssh)-[a-z0-9@.-]+", words[0]) else ""
        yield refused("admin.no_key", path, kind=kind)
        return
    fields = _fields(words[1])
    if not fields or fields[0] != words[0].encode():
        yield refused("admin.damaged_key", path)
    elif words[0] == RSA and (len(fields) < 3 or int.from_bytes(fields[2], "big").bit_length() < SHORTEST_RSA_BITS):
        yield refused("admin.short_key", path, bits=SHORTEST_RSA_BITS)


def password_problems(text: str, path: str, fix: str) -> Iterator[Problem]:
    """The problems of the password of a Windows machine. It is never shown. `fix`: how to set another one."""
    least, most = PASSWORD_LENGTH
    if not least <= len(text) <= most:
        yield refused("admin.password_length", path, fix=fix, least=least, most=most)
    if sum(re.search(kind, text) is not None for kind in _KINDS_OF_CHARACTERS) < 3:
        yield refused("admin.simple_password", path, fix=fix)
    if text in REFUSED_PASSWORDS:
        yield refused("admin.known_password", path, fix=fix)


def _fields(encoded: str) -> list[bytes]:
    """The fields inside a key: each has its length before it. Empty if they are invalid."""
    import base64  # and binascii with it, for the few that have keys
    import binascii

    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return []
    found: list[bytes] = []
    while data:
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 + length:
            return []
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found
