"""`run`: runs a script, workload or image locally or on a service of a stack, streams its log and returns its exit code."""
