"""`run --on local`: runs on this machine, in a separate Python environment or in a container."""
