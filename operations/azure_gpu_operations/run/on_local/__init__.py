"""`run --on local`: here, on this machine, in an environment of its own or in a container."""
