"""An environment for GPU jobs: its component, its arguments and their validation."""
