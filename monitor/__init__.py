"""Tells, live, whether sensors that state their own uncertainty are right."""

__version__ = "0.1.0"
