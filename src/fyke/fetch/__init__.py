"""Fetching: HTTP over pycurl on the event loop, DNS with a cache, and the veto of private addresses."""
