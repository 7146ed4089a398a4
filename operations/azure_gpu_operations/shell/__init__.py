"""`operations shell`: the Azure CLI beside a stack, with a configuration of its own, signed in to the stack's cloud.

`clouds` says how it calls the stack's cloud, `cli` has it installed, `environment` is what a shell of it finds, `sign_in` makes
the configuration, `command` is the command line.
"""
