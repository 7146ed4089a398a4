"""Nodes of Batch pools: the agent process of each, what runs on it, and the files and variables that a task finds there."""
