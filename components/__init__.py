"""What is declared: one `ComponentResource` a file, the pure rules that decide its shape, and the settings that feed it.

Every component has the same two steps: `resolve`, pure, fills in defaults and finds every problem; the constructor declares.
"""
