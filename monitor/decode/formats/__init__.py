"""The formats of payloads, one file each; ``DECODERS`` of :mod:`monitor.decode` names them."""
