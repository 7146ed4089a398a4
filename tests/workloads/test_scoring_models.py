"""The kinds of model that scoring serves, one after another in one process of its environment; and the script by itself."""

import base64
import json
from pathlib import Path

import pytest

from tests.workloads.scoring_server import picture
from tests.workloads.workload_runs import SCORING, run

pytestmark = pytest.mark.slow  # TensorFlow is loaded, and ten models

# For each model of a list: loads it, and answers each body as the server would. {"answers": […]}, or {"refused": "…"}.
PROGRAM = """
import base64, json, os, sys
from pathlib import Path
import score
from image_scoring import exchange as answer
from image_scoring.exchange import RefusedError

def answered(body, kind):
    try:
        return json.loads(score.score(base64.b64decode(body), kind, answer.Times()))
    except RefusedError as refusal:
        return {"status": refusal.status, "message": refusal.message, "expected": refusal.expected}

for asked in json.loads(sys.argv[1]):
    os.environ.update(asked["environment"], AZUREML_MODEL_DIR=asked["model"])
    try:
        score.init()
        print(json.dumps({"answers": [answered(*body) for body in asked["bodies"]]}))
    except ValueError as error:
        print(json.dumps({"refused": str(error)}))
    for name in asked["environment"]:
        del os.environ[name]
"""
FILES = [picture((255, 0, 51)), picture((0, 255, 0), (20, 10), "JPEG"), picture((0, 0, 255))]


def of(model: str, *bodies: bytes | str | list | dict, **environment: str) -> dict:
    """A model, and bodies: bytes as they are, anything else as JSON."""
    sent = [
        [base64.b64encode(body if isinstance(body, bytes) else json.dumps(body).encode()).decode(), ""]
        if isinstance(body, (bytes, list, dict))
        else [base64.b64encode(body.encode()).decode(), "application/json"]
        for body in bodies
    ]
    return {"model": model, "bodies": sent, "environment": environment}


def texts(files: list[bytes]) -> list[str]:
    return [base64.b64encode(file).decode() for file in files]


ASKED = {
    "files": of(
        "files", FILES[0], texts(FILES), [[0.5]], b"GIF89a", texts([FILES[0], picture((1, 2, 3), (99, 99), "JPEG")[:-60]])
    ),
    "one_file": of("one_file", texts(FILES)),
    "any size": of("colours_of_any_size", FILES[1], texts(FILES[::2]), texts(FILES)),
    "bytes by four": of("bytes_by_four", FILES[0], texts([*FILES, *FILES]), [[[[300] * 3] * 8] * 8], [[[[1.5] * 3] * 8] * 8]),
    "grey": of("grey", picture(51, mode="L"), [[1] * 4] * 4),
    "one picture": of("one_picture", texts(FILES[::2]), [[[0.5] * 3] * 8] * 8, SCORING_SCALE="-1..1"),
    "rows": of("rows", [1, 2, 3], {"inputs": [[1, 2, 3], [4, 5, 6]]}, [1, 2], FILES[0]),
    "whole numbers": of("whole_numbers", [1, -128], [1, 128], [0.5, 1]),
    "words": of("words", ["one", "three"], SCORING_INPUT="text"),
    "two inputs": of("two_inputs"),
    "a folder of several": of("."),
    "a folder of none": of("empty"),
    "limits": of("rows", SCORING_MAX_IMAGES="many", SCORING_SCALE="0..2"),
}


@pytest.fixture(scope="module")
def answers(scoring_python: Path, scoring_models: Path) -> dict[str, dict]:
    (scoring_models / "empty").mkdir()
    asked = [{**one, "model": str(scoring_models / one["model"])} for one in ASKED.values()]
    done = run([scoring_python, "-c", PROGRAM, json.dumps(asked)], SCORING, PYTHONDONTWRITEBYTECODE="1")
    assert done.code == 0, done.stderr
    return dict(zip(ASKED, map(json.loads, done.lines), strict=True))


def scores(answer: dict) -> list[list[float]]:
    return [[round(score, 3) for score in row] for row in answer["scores"]]


def test_a_model_of_encoded_images_gets_them_as_they_are(answers: dict[str, dict]) -> None:
    one, three, array, gif, cut = answers["files"]["answers"]
    assert one["output"] == "probabilities"
    assert one["others"] == {"classes": [0]}
    assert sum(one["scores"][0]) == pytest.approx(1)
    assert three["others"] == {"classes": [0, 1, 2]}
    assert (array["status"], array["message"]) == (400, "the model takes no arrays")
    assert gif["status"] == 415
    assert cut["status"] == 400
    assert cut["message"].startswith("the model can't take the input")


def test_a_model_of_one_string_is_asked_once_for_each_image(answers: dict[str, dict]) -> None:
    (three,) = answers["one_file"]["answers"]
    assert [max(range(3), key=row.__getitem__) for row in three["scores"]] == [0, 1, 2]


def test_a_model_of_any_size_gets_images_at_their_own(answers: dict[str, dict]) -> None:
    one, two, unequal = answers["any size"]["answers"]
    assert scores(one)[0] == pytest.approx([0, 1, 0], abs=0.02)
    assert scores(two) == [[1, 0, 0.2], [0, 0, 1]]
    assert (unequal["status"], unequal["message"]) == (400, "the images differ in size")


def test_a_model_of_fixed_batches_gets_them_filled_up(answers: dict[str, dict]) -> None:
    one, six, large, broken = answers["bytes by four"]["answers"]
    assert scores(one) == [[255, 0, 51]]
    assert [row[2] for row in scores(six)] == [51, pytest.approx(0, abs=2), 255, 51, pytest.approx(0, abs=2), 255]
    assert large["message"] == "the array holds numbers that don't fit"
    assert large["expected"] == "whole numbers from 0 to 255"
    assert broken["message"] == "the array holds something other than whole numbers"


def test_a_model_of_grey_images_as_mnists_gets_one_channel(answers: dict[str, dict]) -> None:
    one, array = answers["grey"]["answers"]
    assert scores(one) == [[51] * 4]
    assert scores(array) == [[1] * 4]


def test_a_model_of_one_image_without_a_batch_is_asked_once_for_each(answers: dict[str, dict]) -> None:
    two, array = answers["one picture"]["answers"]
    assert scores(two) == [[1, -1, -0.6], [-1, -1, 1]]
    assert scores(array) == [[0.5] * 3]


def test_a_model_of_numbers_takes_rows_and_says_so_to_others(answers: dict[str, dict]) -> None:
    one, two, short, image = answers["rows"]["answers"]
    assert scores(one) == [[2, 4, 6]]
    assert scores(two) == [[2, 4, 6], [8, 10, 12]]
    assert short == {"status": 400, "message": "the array is 2", "expected": "an array of float32 3 or a batch of them"}
    assert (image["status"], image["message"]) == (415, "the model takes no images")


def test_a_model_of_whole_numbers_takes_those_that_fit(answers: dict[str, dict]) -> None:
    fits, large, broken = answers["whole numbers"]["answers"]
    assert fits["scores"] == [[2, -127]]
    assert large["expected"] == "whole numbers from -128 to 127"
    assert broken["status"] == 400


def test_strings_are_text_where_the_service_says_so(answers: dict[str, dict]) -> None:
    (words,) = answers["words"]["answers"]
    assert (words["output"], words["scores"], words["others"]) == ("scores", [3, 5], {"back": ["one", "three"]})


def test_a_model_of_two_inputs_is_refused_in_the_documents_words(answers: dict[str, dict]) -> None:
    assert answers["two inputs"] == {"refused": "This score.py only supports one input"}


def test_a_folder_without_one_model_is_refused_with_what_it_holds(answers: dict[str, dict]) -> None:
    assert "has to hold one SavedModel" in answers["a folder of several"]["refused"]
    assert "found: bytes_by_four, colours" in answers["a folder of several"]["refused"]
    assert answers["a folder of none"]["refused"].endswith("found: none")


def test_settings_that_cannot_be_used_are_all_told(answers: dict[str, dict]) -> None:
    assert answers["limits"]["refused"].split("; ") == [
        "SCORING_MAX_IMAGES='many': expected a whole number from 1 to 100000",
        "SCORING_SCALE='0..2': expected one of 0..1, -1..1, 0..255",
    ]


def test_the_script_scores_files_without_a_server(scoring_python: Path, scoring_models: Path, tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(FILES[0])
    (tmp_path / "text.png").write_text("text")
    files = [tmp_path / name for name in ("red.png", "none.png", "text.png")]
    done = run([scoring_python, "score.py", "--model", scoring_models / "colours", *files], SCORING)
    assert done.code == 2
    (line,) = done.lines
    assert scores(json.loads(line)) == [[1, 0, 0.2]]
    told = [line for line in done.stderr.splitlines() if line.startswith("score.py: ")]
    assert "none.png" in told[0]
    assert told[1].startswith(f"score.py: {tmp_path}/text.png: the body is not PNG")
