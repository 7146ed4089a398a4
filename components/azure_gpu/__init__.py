"""What is declared: one `ComponentResource` a file, the pure rules that decide its shape, and the settings that feed it.

Every component has the same two steps: `resolve`, pure, fills in defaults and finds every problem; the constructor declares.

azure-native is some hundred thousand lines, and each of its services loads when it is first touched. Modules that declare with
it leave their annotations unevaluated (`from __future__ import annotations`) and touch no service at their top, so that a stack
loads the services that it has and no other.
"""
