"""The contract between a scoring script and Azure Machine Learning's inference server, azureml-inference-server-http 1.5.1.

`FACTS` and the defaults that a container and the parts that imitate the service share. It was read in the
package's own files; whoever writes a script or a server for one relies on it.
"""

from datetime import date

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.sources import Dated, Source

PACKAGE = "azureml-inference-server-http"
VERSION = "1.5.1"
SERVER = Source(f"{PACKAGE} {VERSION}, its wheel", Dated.OBSERVED, date(2025, 12, 18))

PORT = 5001
SCORING_ROUTE = "/score"
LIVENESS_ROUTE = "/"
MODEL_FOLDER_VARIABLE = "AZUREML_MODEL_DIR"
ENTRY_SCRIPT_VARIABLE = "AZUREML_ENTRY_SCRIPT"

FACTS: tuple[Fact, ...] = (
    Fact("functions", "init() and run(x)", SERVER),
    Fact(
        "arguments of run", "one for the data, by name; optionally request_headers; no *args, **kwargs or positional-only", SERVER
    ),
    Fact("raw requests", "@rawhttp gives run the Flask request; not together with @input_schema", SERVER),
    Fact("answers", "AMLResponse(body, status, headers, json_str); anything else is written as JSON", SERVER),
    Fact("import of AMLRequest and rawhttp", "azureml_inference_server_http.api.aml_request", SERVER),
    Fact("import of AMLResponse", "azureml_inference_server_http.api.aml_response", SERVER),
    Fact(
        "imports of version 1",
        "azureml.contrib.services.aml_request and .aml_response still resolve, inside the server only",
        SERVER,
    ),
    Fact("scoring", f"POST, GET and OPTIONS {SCORING_ROUTE}", SERVER),
    Fact("health", f'GET {LIVENESS_ROUTE}, answered with "Healthy"', SERVER),
    Fact("description", "GET /swagger.json?version=2 or 3", SERVER),
    Fact("port", f"{PORT}; a port for health alone is possible, 5000", SERVER),
    Fact(MODEL_FOLDER_VARIABLE, "the folder of the model", SERVER),
    Fact(ENTRY_SCRIPT_VARIABLE, "the scoring script", SERVER),
    Fact("AML_APP_ROOT", "the folder of the script; /var/azureml-app", SERVER),
    Fact("WORKER_COUNT", "1", SERVER),
    Fact("WORKER_TIMEOUT", "300 seconds", SERVER),
    Fact("WORKER_PRELOAD", "loads the script before the workers are forked", SERVER),
    Fact("SCORING_TIMEOUT_MS", "3,600,000 milliseconds", SERVER),
    Fact("AZUREML_LOG_LEVEL", "level of the log", SERVER),
    Fact("AZUREML_DEBUG_PORT", "port of a debugger", SERVER),
    Fact("AML_CORS_ORIGINS", "origins that browsers may ask from", SERVER),
    Fact("AZUREML_CONFIG_FILE", "a file with these settings", SERVER),
    Fact("command", "azmlinfsrv --entry_script --model_dir --port --health_port --worker_count --config_file", SERVER),
    Fact("Python", "3.9 and later; classifiers to 3.12", SERVER),
    Fact("requirements", "Flask 3.1, gunicorn 23 or later (waitress on Windows), pydantic 2.12", SERVER),
    Fact("JSON", "request.json raises without the content type application/json, since 1.4.0", SERVER),
    Fact("error in run", "500 with the header x-ms-run-function-failed: True", SERVER),
    Fact("timeout", "500", SERVER),
    Fact("bad JSON", "400", SERVER),
    Fact("wrong method", "405", SERVER),
)
