"""Training of a handwritten-digit classifier on a GPU, or on the CPU where there is none. Run as `python -m mnist_training`."""
