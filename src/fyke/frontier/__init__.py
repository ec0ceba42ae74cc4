"""Mercator's frontier: which URL next, when a host may be contacted again, what was seen. Decides; touches no disk."""
