"""Where the log of a workspace's job lies in the workspace's own storage, while the job writes it and afterwards.

In: a job's name. Out: a container and a blob in it.
"""

CONTAINER = "azureml"


def blob_of(job_name: str) -> str:
    return f"ExperimentRun/dcid.{job_name}/user_logs/std_log.txt"
