"""The components as a Pulumi provider, for programs in TypeScript, YAML, Go, C#, Java and Python.

`schema` generates the package schema from the components' TypedDicts, `schema.json` is the served copy, `values` reads the
engine's inputs, and `provider` serves the engine. `python -m azure_gpu.host` starts it.
"""
