"""Local files: folders become rows ``file:///…`` of a store, quickly, quietly, and seen by nobody else.

The way of a file::

    walk ─ ignore ─▶ listings ─ state ─▶ what is new, changed, moved, gone ─ documents ─▶ rows, in one batch with their
     ▲                                                                                    states (files)
    watch: what the kernel tells while nobody walks                     throttle: when to work, and how much

``run.Desktop`` joins them: ``scan`` once, ``watch`` from then on. No module here may import anything that reaches a
network (.importlinter). What changed is told by what was stored of a file, never by the date of the last run.
"""
