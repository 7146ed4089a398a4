"""The entry of the packaged program: runs the program, which lies beside this file in the wheel, in the user's folder."""

import os
import runpy
from pathlib import Path

os.chdir(os.environ["AZURE_GPU_FOLDER"])  # relative paths in a stack file start there
runpy.run_path(str(Path(__file__).with_name("stack_program.py")), run_name="__main__")
