"""What is taken for a secret, or for a placeholder, without anything saying so."""

import pytest

from azure_gpu.formats import placeholders
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name, without_secrets
from tests.support.rows import each_row


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


@pytest.mark.parametrize(
    "text",
    [
        "postgres://app:s3cret@db/app",
        "https://ghp_0123456789abcdefghij@github.com/a/b",
        "AccountName=a;AccountKey=abc==;",
        "https://a.blob.core.windows.net/c?sv=2019&sig=abc%3D",
        "run --password=abc",
        "app:s3cret@tcp(db:3306)/app",
        "-----BEGIN RSA PRIVATE KEY-----",
    ],
)
def test_texts_with_a_secret_in_them(text: str) -> None:
    assert holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com:8080/a@b",
        "nginx:1.15",
        "password",
        "echo --token-count 3",
        "user@example.com",
        "http://db:5432/x",
        "",
    ],
)
def test_texts_without_one(text: str) -> None:
    assert not holds_secret(text)


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


@each_row(
    ("text", "found"),
    [
        ("<acrLoginServer>/app:v1", "<acrLoginServer>"),
        ("/subscriptions/<Subscription ID>/x", "<Subscription ID>"),
        ("app:${TAG}", "${TAG}"),
        ("{{ image }}", "{{ image }}"),
        ("$(az acr show --query $(x))", "$(az acr show --query $(x))"),
        ("#{Tag}#", "#{Tag}#"),
        ("__IMAGE__", "__IMAGE__"),
        ("[your-registry].azurecr.io", "[your-registry]"),
        ("a < b and c > d", ""),
        ("nginx:1.15", ""),
        ("$IMAGE_TAG", "$IMAGE_TAG"),
        ("$HOME/x", ""),
        ("price: 5$ US", ""),
        ("[secret]", ""),
    ],
)
def test_placeholders(text: str, found: str) -> None:
    assert placeholders.find(text) == found
