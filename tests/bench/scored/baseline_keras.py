"""Baseline A: `keras.predict`, with the json module. A scoring script as tutorials write it."""

import io
import json
import os
from pathlib import Path

import keras
import numpy as np
from azureml_inference_server_http.api.aml_request import rawhttp
from azureml_inference_server_http.api.aml_response import AMLResponse
from PIL import Image


def init():
    global model
    model = keras.saving.load_model(Path(os.environ["AZUREML_MODEL_DIR"]) / "model.keras")


@rawhttp
def run(request):
    data = request.get_data(False)
    if request.headers.get("Content-Type") == "application/json":
        batch = np.asarray(json.loads(data)["inputs"], np.float32)
    else:
        batch = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.float32)[None] / 255
    return AMLResponse(json.dumps(model.predict(batch, verbose=0).tolist()), 200)
