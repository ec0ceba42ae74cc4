"""What a crawl came to: the summary that ``fyke.crawl`` returns and ``fyke crawl`` prints."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.crawl.run.ending import End, exit_status
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.status import Status


@dataclass(frozen=True, slots=True)
class Summary:
    """What a crawl came to."""

    pages: int
    """Documents in the store."""
    bytes: int
    seconds: float
    cpu_seconds: float
    """Of this process and its agents."""
    errors: dict[str, int]
    dropped: dict[str, int]
    duplicates: int
    requisites: int
    """What pages need to be shown, where it was wanted: images, styles, scripts, fonts."""
    forms: dict[str, int]
    """Forms that were tried, their requests and new results; and why others were not, by reason."""
    queued: int
    hosts: int
    relevant: int
    """Documents about the crawl's topic, where it has one."""
    harvest: float
    """Of the documents that were classified, the share that is relevant."""
    finished: bool
    """Nothing is left to do."""
    ended: str
    """Why it ended: ``done``, ``limit``, ``interrupted`` or ``no-room``."""
    limit: str
    """The setting whose limit was reached: ``max_pages``, ``max_bytes`` or ``max_time``."""
    deferred: int
    """URLs that are left since they are due beyond the patience, where the crawl ended by itself."""
    failed_seeds: dict[str, str]
    """Seeds that could not be had, each with its reason."""
    backed_up: bool | None
    """Whether the depot has everything; None without one."""
    status: int
    """The exit status of ``fyke crawl``: 0, 1 failed, 3 interrupted with work left."""


def summarize(
    plan: Plan,
    status: Status,
    end: End,
    failed: dict[str, str],
    *,
    seconds: float,
    cpu: float,
    backed_up: bool | None,
) -> Summary:
    """Say what a crawl came to that ended by ``end`` with ``status``; ``failed`` are seeds that could not be had."""
    settings = plan.settings
    return Summary(
        pages=status.pages,
        bytes=status.bytes,
        seconds=round(seconds, 3),
        cpu_seconds=round(cpu, 3),
        errors=status.errors,
        dropped=status.dropped,
        duplicates=sum(status.duplicates.values()),
        requisites=status.requisites,
        forms=status.forms,
        queued=status.queued,
        hosts=status.hosts,
        relevant=status.relevant,
        harvest=round(status.harvest, 4),
        finished=end is End.DONE and not status.queued,
        ended=end,
        limit=_limit_reached(settings, status) if end is End.LIMIT else "",
        deferred=status.queued if end is End.DONE else 0,
        failed_seeds=failed,
        backed_up=backed_up,
        status=exit_status(
            end,
            pages=status.pages,
            queued=status.queued,
            seeds=len(plan.seeds),
            failed=failed,
            continuous=settings.continuous,
        ),
    )


def _limit_reached(settings: CrawlSettings, status: Status) -> str:
    if settings.max_pages and status.pages >= settings.max_pages:
        return "max_pages"
    return "max_bytes" if settings.max_bytes and status.bytes >= settings.max_bytes else "max_time"
