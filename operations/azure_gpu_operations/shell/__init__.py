"""`operations shell`: the Azure CLI with a separate configuration, signed in to a stack's cloud.

`cli` installs it, `clouds` has its name of the stack's cloud, `sign_in` creates its configuration, `environment` the environment
variables; `command` is the command line.
"""
