"""`run --on vm`: on the stack's virtual machine, by a run-command."""
