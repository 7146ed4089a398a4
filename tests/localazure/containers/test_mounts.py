"""Paths that are led elsewhere: where they stand for themselves, and nowhere else."""

from pathlib import Path

from hypothesis import given, strategies as st

from localazure.containers.volumes import Mount, led, targets
from tests.support.tables import of_table

PATHS = {"/mnt/data": Path("/led/data"), "/mnt/data2": Path("/led/data2"), "/tmp": Path("/led/tmp")}


@of_table("word", "expected")
def test_a_path_is_led_where_it_stands_for_itself(word: str, expected: str) -> None:
    assert led(word, PATHS) == expected


@given(st.text(alphabet="abc-._ ", max_size=20))
def test_words_without_a_path_stay_as_they_are(word: str) -> None:
    assert led(word, PATHS) == word


@given(st.lists(st.sampled_from(["/mnt/data/x", "/tmp", "/mnt/data2", "/etc/hosts", "plain"]), max_size=6))
def test_each_word_of_a_line_is_led_by_itself(words: list[str]) -> None:
    assert led(" ".join(words), PATHS) == " ".join(led(word, PATHS) for word in words)


def test_an_image_with_a_tmp_of_its_own_keeps_it() -> None:
    mounts = [Mount("v", "/data")]
    assert targets(mounts, Path("/c/root"), tmp=False) == {"/data": Path("/c/root/data")}
    assert targets(mounts, Path("/c/root"), tmp=True) == {"/tmp": Path("/c/root/tmp"), "/data": Path("/c/root/data")}
