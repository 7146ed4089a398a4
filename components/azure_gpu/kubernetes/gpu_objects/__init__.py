"""Objects on a cluster with GPU pools: device plugin, node labels, metrics, jobs and services."""
