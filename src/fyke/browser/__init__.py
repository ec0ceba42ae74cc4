"""Pages as a browser shows them, by a Chromium that owns no way to the network: whoever renders answers its requests.

::

    caller's loop                     │ a thread with a loop of its own            │ processes
    Chromium.render(url, serve, …) ──▶│ a fresh context for the page (page.py) ───▶│ Playwright's driver ─▶ Chromium
    serve(Asked) ─▶ Exchange, Refusal ◀│ every request of the page                  │ (process.py: flags, group, kill)
    Rendered ◀────────────────────────│ settled, or its time is over               │

One page never ends another's: a page that hangs or crashes has a reason, and a browser that does is replaced.
"""
