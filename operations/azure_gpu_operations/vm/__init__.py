"""`python -m operations vm`: starts, deallocates and shows a stack's virtual machines."""
