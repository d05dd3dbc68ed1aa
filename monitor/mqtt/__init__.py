"""Where messages come from: brokers, recordings, a simulated fleet."""
