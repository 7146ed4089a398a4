"""How long a test waits for what has to happen: longer than any busy machine makes it, so that only what hangs ends by it.

It is no measure of speed. A test that passes waits for far less; what has to be quick is a figure of `make bench`.
"""

SECONDS = 600
