"""An embedded Azure on which nothing runs: what is declared is validated, kept and shown, and no process is started for it."""
