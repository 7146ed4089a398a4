"""`run --on job`: an execution of a stack's Container Apps job."""
