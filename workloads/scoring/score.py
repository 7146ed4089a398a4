"""The scoring script: any TensorFlow SavedModel of one input behind Azure Machine Learning's inference server, or on the command
line: `python score.py --model DIR image.png …`. README.md describes requests and answers."""

import argparse
import gc
import os
import sys
import threading
from pathlib import Path

from azureml_inference_server_http.api.aml_request import rawhttp
from azureml_inference_server_http.api.aml_response import AMLResponse

sys.path.insert(0, str(Path(__file__).resolve().parent))  # the server loads this file by its path

from image_scoring import content, exchange, options
from image_scoring.exchange import RefusedError
from image_scoring.model import Model, log_cpu_use

_AT_WORK = threading.BoundedSemaphore(2)  # concurrent requests that decode or run the model: one more than Python can run


def init() -> None:
    """Loads the model. ValueError in the log if it can't be served: `This score.py only supports one input`."""
    global model, allowed
    exchange.log_one_line_per_request()
    allowed = options.limits(os.environ)
    folder = options.model_folder(os.environ)
    log_cpu_use(os.environ)
    model = Model(folder)
    model.warm_up()
    gc.collect()
    gc.freeze()  # permanent objects needn't be scanned again


@rawhttp
def run(request) -> AMLResponse:
    if request.method == "POST":
        return _post(request)
    if request.method == "GET":
        return AMLResponse("GET is not supported", 405, {"Content-Type": "text/plain"})
    return AMLResponse("bad request", 500, {"Content-Type": "text/plain"})


def _post(request) -> AMLResponse:
    times = exchange.Times()
    try:
        received = exchange.read(request, allowed)
        times.ended("receive")
        with _AT_WORK:
            written = score(received, request.environ.get("CONTENT_TYPE", ""), times)
    except RefusedError as refusal:
        return AMLResponse(exchange.error(refusal), refusal.status, exchange.JSON_HEADERS)
    response = AMLResponse(written, 200, exchange.JSON_HEADERS)
    response.headers["Server-Timing"] = times.header()  # one line; AMLResponse would write one for each comma
    return response


def score(received: bytes, content_type: str, times: exchange.Times) -> bytes:
    """The answer to one body."""
    items = content.read(content_type, received, model.input, allowed)
    times.ended("decode")
    outputs = model.run(items)
    times.ended("model")
    written = exchange.scores(outputs, model.scores)
    times.ended("encode")
    return written


def main(arguments: list[str]) -> int:
    """Scores files without a server, one line of JSON each. Exit code: 0, or 2 if the model or a file can't be used."""
    parser = argparse.ArgumentParser(prog="score.py", description="Scores images with a SavedModel of one input.")
    parser.add_argument("--model", required=True, metavar="DIR", help="folder with a SavedModel")
    parser.add_argument("files", nargs="+", metavar="FILE", help="PNG, JPEG, .npy or .json")
    given = parser.parse_args(arguments)
    os.environ[options.MODEL_VARIABLE] = given.model
    try:
        init()
    except ValueError as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    code = 0
    for name in given.files:
        try:
            print(score(Path(name).read_bytes(), "", exchange.Times()).decode(), flush=True)
        except (RefusedError, OSError) as error:
            print(f"score.py: {name}: {error}", file=sys.stderr)
            code = 2
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
