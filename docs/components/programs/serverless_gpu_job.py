import pulumi

from azure_gpu import Foundation, JobEnvironment, ServerlessGpuJob

base = Foundation("base", location="swedencentral", identity="create")
environment = JobEnvironment("jobs", foundation=base, gpus=["T4"])
job = ServerlessGpuJob("train", job_environment=environment, image="python:3.11", args=["train.py"], expires_after="2026-12-31")
pulumi.export("job", job.job_id)
