"""An online endpoint: its component, its arguments, and every reason to refuse them."""
