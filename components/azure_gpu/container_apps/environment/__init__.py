"""An environment for GPU jobs: its component, its arguments, and every reason to refuse them."""
