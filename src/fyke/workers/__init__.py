"""Killable worker processes for what may hang, crash or eat memory: conversions of hostile files."""
