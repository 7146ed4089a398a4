"""The resource types that the embedded Azure serves, one module a service. `localazure.wiring` makes one of each class."""
