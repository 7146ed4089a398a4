"""An online endpoint: its component, its arguments and their validation."""
