"""Azure Container Apps on this machine: executions of jobs with their replicas, schedules, and the log stream."""
