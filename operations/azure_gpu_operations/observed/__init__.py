"""Reads what goes on in Azure: pools, nodes, pods and jobs, for `running`, `explain` and `run`."""
