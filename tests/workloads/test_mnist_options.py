"""The training's command line: every mistake is told at once, in words, with code 2."""

from collections.abc import Callable

import pytest

from tests.workloads.workload_runs import Finished
from workloads.mnist.mnist_training import options
from workloads.mnist.mnist_training.refusal import RefusedError


def problems_of(*arguments: str) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        options.parse(arguments)
    return refused.value.problems


def test_nothing_given_is_the_articles_training() -> None:
    chosen = options.parse([])
    assert (chosen.steps, chosen.batch_size, chosen.learning_rate, chosen.min_accuracy) == (1000, 100, 0.001, 0.95)
    assert (chosen.download, chosen.resume, chosen.require_gpu) == (False, False, False)


def test_all_mistakes_are_told_at_once(refuse: Callable[..., Finished]) -> None:
    finished = refuse("--steps", "0", "--batch-size", "many", "--learning-rate", "nan", "--foo", "--min-accuracy", "1.5")
    assert finished.code == 2
    assert finished.stderr.splitlines() == [
        "mnist_training: --foo: is not an option; see --help",
        "mnist_training: --steps: '0' can't be used; allowed: a whole number from 1 to 1000000",
        "mnist_training: --batch-size: 'many' can't be used; allowed: a whole number from 1 to 1000000",
        "mnist_training: --learning-rate: 'nan' can't be used; allowed: a number over 0, up to 1",
        "mnist_training: --min-accuracy: '1.5' can't be used; allowed: a number from 0 to 1",
    ]


def test_what_an_option_allows_is_told() -> None:
    rate, seed = "a number over 0, up to 1", "a whole number from 0 to 2147483647"
    upload = "https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX, without a query"
    wrong = [
        ("model", "resnet", "perceptron, convolution"),
        ("schedule", "linear", "constant, cosine"),
        ("precision", "int8", "auto, float32, bfloat16, float16"),
        ("xla", "auto", "on, off"),
        ("target-accuracy", "99", "a number from 0 to 1"),
        ("evaluate-every", "0", "a whole number from 1 to 1000000"),
        ("checkpoint-every", "x", "a whole number from 1 to 1000000"),
        ("group-timeout", "0", "a whole number of seconds from 1 to 86400"),
        *(("seed", text, seed) for text in ("-1", "2147483648", "1.5", "", "0x10")),
        *(("learning-rate", text, rate) for text in ("0", "-0.1", "inf", "1.01")),
        ("upload-to", "http://account.blob.core.windows.net/models", upload),
        ("upload-to", "https://account.blob.core.windows.net", upload),
        ("upload-to", "https://account.blob.core.windows.net/models/../keys", upload),
        ("upload-to", "models/mnist", upload),
    ]
    assert [problems_of(f"--{option}={text}") for option, text, _ in wrong] == [
        [f"--{option}: {text!r} can't be used; allowed: {allowed}"] for option, text, allowed in wrong
    ]
    assert problems_of("--download", "--mirror", "file:///etc") == [
        "--mirror: 'file:///etc' can't be used; allowed: an address that starts with https:// or http://"
    ]


def test_a_mirror_without_download_is_refused() -> None:
    assert problems_of("--mirror", "https://mirror.example/mnist") == [
        "--mirror: requires --download; add --download or remove --mirror"
    ]


def test_a_missing_value_is_refused() -> None:
    (problem,) = problems_of("--steps")
    assert "--steps" in problem


def test_help_names_the_exit_codes_and_defaults(refuse: Callable[..., Finished]) -> None:
    finished = refuse("--help")
    assert finished.code == 0
    assert "3 no GPU" in finished.stdout
    assert "(default 1000)" in finished.stdout


def test_a_signature_in_an_address_is_refused_and_not_repeated() -> None:
    (problem,) = problems_of("--upload-to", "https://name:word@account.blob.core.windows.net/models?sv=1&sig=secret")
    assert problem.startswith("--upload-to: 'https://account.blob.core.windows.net/models?…' can't be used")
