"""`run`: somebody's script, workload or image on the stack's GPU job, its log on the screen, its exit code as our own."""
