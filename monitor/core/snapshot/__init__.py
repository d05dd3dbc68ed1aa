"""Snapshot."""
