"""The exceptions fyke raises, as one tree; each message names the thing and the remedy.

::

    FykeError                 whatever fyke raises on purpose
    ├── UserError             a mistake of the caller's: command line, configuration, URL (exit status 2)
    │   ├── ConfigError       an unknown key, a value of the wrong kind
    │   └── UrlError          a string that is no URL fyke can name
    └── StorageError          disks and files: foreign, damaged, locked or full (exit status 1)
        ├── DiskFullError     no room is left: free some, and go on
        ├── DepotError        object storage that is silent or refuses: it may be tried again
        ├── FencedError       a tablet that somebody else has taken over: this process must end
        └── SupersededError   a version that was pruned while it was read: get the row again

What a web site does is never an exception: it is a value (``values.Outcome``).
"""


class FykeError(Exception):
    """Whatever fyke raises on purpose; ``str(error)`` is one sentence for a person."""


class UserError(FykeError):
    """A mistake of the caller's; the command line exits with status 2."""


class ConfigError(UserError):
    """An unknown configuration key or a value of the wrong kind."""


class UrlError(UserError):
    """A string that is no URL fyke can name."""


class StorageError(FykeError):
    """A file or directory that is foreign, damaged, locked or full; the command line exits with status 1."""


class DiskFullError(StorageError):
    """A disk without room; what was acknowledged before is kept."""


class SupersededError(StorageError):
    """A version of a row that was pruned while it was read; the row has a newer one."""


class DepotError(StorageError):
    """Object storage that is silent, fails or refuses; what was asked of it may be done or not, and is tried again."""


class FencedError(StorageError):
    """A tablet of a depot that somebody else has taken over: nothing that this process writes there counts any more."""


UNREADABLE = (ValueError, RecursionError)
"""What decoders raise for bytes that are not theirs: errors of their own, text that is no UTF-8, endless nesting."""
