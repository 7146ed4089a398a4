"""`run --on vm`: runs on the stack's virtual machine, by a run-command."""
