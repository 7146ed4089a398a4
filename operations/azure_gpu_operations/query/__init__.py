"""`operations query`: images and arrays sent to an endpoint, with its answers and how long they took."""
