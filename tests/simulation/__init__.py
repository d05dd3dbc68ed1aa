"""The daemon's own loop, intake and journal; broker, disk and clock are models, faults chance."""
