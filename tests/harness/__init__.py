"""Real programs for the tests: started on loopback and free ports, ended with the test."""
