"""What makes the GPUs of a cluster visible, shared and measured: device plugin, labels, metrics, jobs and services."""
