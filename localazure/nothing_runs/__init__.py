"""An embedded Azure on which nothing runs: resources are validated, stored and shown, and no processes are started."""
