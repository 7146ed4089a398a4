"""Baseline B: a plain SavedModel signature, with the json module: the script of the documents, in today's TensorFlow."""

import json
import os
from pathlib import Path

import numpy as np
import tensorflow as tf
from azureml_inference_server_http.api.aml_request import rawhttp
from azureml_inference_server_http.api.aml_response import AMLResponse


def init():
    global model, function, input_name, output_name
    model = tf.saved_model.load(str(Path(os.environ["AZUREML_MODEL_DIR"]) / "saved_model"))
    function = model.signatures["serving_default"]
    (input_name,) = function.structured_input_signature[1]
    (output_name,) = function.structured_outputs


@rawhttp
def run(request):
    data = request.get_data(False)
    if request.headers.get("Content-Type") == "application/json":
        batch = tf.constant(np.asarray(json.loads(data)["inputs"], np.float32))
    else:
        batch = tf.image.convert_image_dtype(tf.io.decode_png(data, channels=3), tf.float32)[None]
    return AMLResponse(json.dumps(function(**{input_name: batch})[output_name].numpy().tolist()), 200)
