"""The contract between a scoring script and Azure Machine Learning's inference server, azureml-inference-server-http 1.5.1.

The defaults that a container and the embedded Azure share, by the package's files; other facts about the server are in
`facts.csv`.
"""

from datetime import date

from azure_gpu.catalog.sources import Dated, Source

PACKAGE = "azureml-inference-server-http"
VERSION = "1.5.1"
SERVER = Source(f"{PACKAGE} {VERSION}, its wheel", Dated.OBSERVED, date(2025, 12, 18))

PORT = 5001
SCORING_ROUTE = "/score"
LIVENESS_ROUTE = "/"
MODEL_FOLDER_VARIABLE = "AZUREML_MODEL_DIR"
