"""The components as a Pulumi provider, for programs in TypeScript, YAML, Go, C#, Java and Python.

`schema` makes the package schema of the components' TypedDicts, `schema.json` is the one that is served, `values` reads what the
engine sends, and `provider` answers the engine. `python -m azure_gpu.host` is the command.
"""
