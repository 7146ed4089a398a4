"""What is taken for a secret, or for a placeholder, without anything saying so."""

from azure_gpu.formats import placeholders
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name, without_login, without_secrets
from tests.support.rows import each_row
from tests.support.tables import of_table


@each_row(
    "name",
    [
        *("PASSWORD", "DB_PASSWORD", "dbPassword", "MYSQL_PWD", "API_KEY", "apiKey", "AZURE_STORAGE_KEY", "GITHUB_TOKEN"),
        *("Client-Secret", "AZURE_STORAGE_CONNECTION_STRING", "SAS_TOKEN", "SSH_PRIVATE_KEY", "HF_TOKEN", "APIKEY"),
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@each_row(
    "name",
    [
        *("PATH", "LANG", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "DB_PASSWORD_FILE", "SECRET_NAME", "TOKEN_URL", "KEY"),
        *("KEYBOARD", "PASSAGE", "NVIDIA_VISIBLE_DEVICES", "BUCKET_KEY_PREFIX", "PARTITION_KEY", "COMPASS", ""),
    ],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


@of_table("text")
def test_texts_with_a_secret_in_them(text: str) -> None:
    assert holds_secret(text)


@of_table("text")
def test_texts_without_one(text: str) -> None:
    assert not holds_secret(text)


@of_table("address", "shown")
def test_addresses_without_their_login(address: str, shown: str) -> None:
    assert without_login(address) == shown


def test_arguments_lose_their_secrets_and_keep_the_rest() -> None:
    words = [
        "--epochs",
        "3",
        "--db-password",
        "Hunter2",
        "--token=abc",
        "KEY=1",
        "API_KEY=2",
        "hf_" + "a" * 20,
        "--key-file",
        "k",
    ]
    kept = ["--epochs", "3", "KEY=1", "--key-file", "k"]
    assert without_secrets(words) == (kept, ["--db-password", "--token", "API_KEY", "an argument"])


def test_a_long_text_takes_no_longer_than_its_length_says() -> None:
    assert not holds_secret("a." * 200_000 + "eyJ-" * 100_000)


@of_table("text", "found")
def test_placeholders(text: str, found: str) -> None:
    assert placeholders.find(text) == found
