"""`run --on job`: starts an execution of a stack's Container Apps job."""
