"""Benches: fyke beside its peers in one run. ``python -m bench.NAME``, or ``make bench`` for all of them."""
