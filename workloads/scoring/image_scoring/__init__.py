"""Scoring with a TensorFlow SavedModel of one input: images or arrays in, scores out. `score.py` is the server's entry script."""
