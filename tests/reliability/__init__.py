"""What the daemon is promised to survive, done to it, and a checker that reads what is left."""
