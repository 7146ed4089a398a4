"""Reads what the retired clients of Azure Machine Learning left: Workbench's files, scripts for version 1 of the SDK."""
