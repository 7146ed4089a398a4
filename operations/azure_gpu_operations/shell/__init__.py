"""`operations shell`: the Azure CLI beside a stack, with a configuration of its own, signed in to the stack's cloud.

`connections` says where, `cli` has the Azure CLI installed, `environment` is what a shell of it finds, `sign_in` makes the
configuration, `command` is the command line.
"""
