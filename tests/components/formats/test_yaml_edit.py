"""One value of a stack file changes, and nothing else in the file does."""

import pytest

from azure_gpu.formats.yaml_edit import EditError, with_value

FILE = """\
# The team's own.
encryptionsalt: v1:abc
config:
  azure-gpu:team: vision   # ours
  azure-gpu:ml_workspace: create
  azure-gpu:ml_endpoints:
    digits:
      deployments:
        blue: {model: mnist-1}
        green: {model: "mnist-2"}
      traffic: {blue: 90, green: 10}  # by hand
      mirror: {green: 5}

    # The other one.
    lynx:
      traffic:
        blue: 100   # all
  azure-native:secret:
    secure: v1:xyz
"""
DIGITS = ("config", "azure-gpu:ml_endpoints", "digits")


def test_a_number_in_braces_changes_alone() -> None:
    changed = with_value(FILE, (*DIGITS, "traffic", "green"), 100)
    assert changed == FILE.replace("{blue: 90, green: 10}", "{blue: 90, green: 100}")


def test_a_number_on_a_line_of_its_own_keeps_its_comment() -> None:
    changed = with_value(FILE, ("config", "azure-gpu:ml_endpoints", "lynx", "traffic", "blue"), 50)
    assert changed == FILE.replace("blue: 100   # all", "blue: 50   # all")


def test_a_key_is_added_to_braces_and_to_lines() -> None:
    assert "{blue: 90, green: 10, red: 0}  # by hand" in with_value(FILE, (*DIGITS, "traffic", "red"), 0)
    changed = with_value(FILE, ("config", "azure-gpu:ml_endpoints", "lynx", "traffic", "green"), 0)
    assert changed == FILE.replace("blue: 100   # all\n", "blue: 100   # all\n        green: 0\n")


def test_a_mapping_takes_the_place_of_a_word_that_it_may() -> None:
    model = {"version": "1", "path": "mnist/1"}
    path = ("config", "azure-gpu:ml_workspace", "models", "mnist")
    changed = with_value(FILE, path, model, in_place_of=["create"])
    added = "  azure-gpu:ml_workspace:\n    models:\n      mnist:\n        version: '1'\n        path: mnist/1\n"
    assert changed == FILE.replace("  azure-gpu:ml_workspace: create\n", added)
    with pytest.raises(EditError):
        with_value(FILE, path, model)


def test_a_mapping_is_added_before_the_comment_of_what_follows() -> None:
    changed = with_value(FILE, (*DIGITS, "auth"), "key")
    assert changed == FILE.replace("      mirror: {green: 5}\n", "      mirror: {green: 5}\n      auth: key\n")


def test_windows_line_ends_stay() -> None:
    text = FILE.replace("\n", "\r\n")
    path = ("config", "azure-gpu:ml_workspace", "models", "mnist")
    changed = with_value(text, path, {"version": "1"}, in_place_of=["create"])
    assert changed.count("\n") == changed.count("\r\n") == text.count("\n") + 3


def test_what_an_anchor_shares_is_not_changed_behind_its_back() -> None:
    shared = "a: &both {blue: 1}\nb: *both\n"
    with pytest.raises(EditError):
        with_value(shared, ("a", "blue"), 2)


def test_what_is_no_mapping_is_left_alone() -> None:
    for text in ("", "- 1\n", "a: [1]\n", "a: {b\n"):
        with pytest.raises(EditError):
            with_value(text, ("a", "b"), 1)
