"""`python -m operations vm`: a stack's virtual machines, started, deallocated and looked at."""
