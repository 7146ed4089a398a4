"""`import` of ids: existing Azure resources as parts of a stack file and of a stack's state. Nothing is written to Azure."""
