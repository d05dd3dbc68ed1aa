"""The daemon's HTTP service: metrics, health, the JSON interface and the page."""
