"""Declares what the stack file describes, with the program of the package azure-gpu. Resources of your own can follow below."""

import runpy
from importlib.resources import files

runpy.run_path(str(files("azure_gpu_operations") / "program" / "stack_program.py"), run_name="__main__")
