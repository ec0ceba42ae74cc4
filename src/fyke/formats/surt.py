"""SURT: the sort-friendly key under which CDX servers and pywb look a URL up.

The key is the host's labels in reverse, a bracket, path and query: ``com,example)/fish?a=1``. Everything that the
Internet Archive's tools do to a URL is done to the key and never to the URL: ``www.`` goes, and default ports, user
names, fragments, session ids, the last slash, repeated slashes and dots; escapes are undone as often as they were made,
and what must be escaped is escaped once; parameters are sorted; all is in lower case. Readers find a page only under
the same key byte for byte, so oddities are kept, too: a leading ``&``, addresses of hosts that begin with ``0x``.
"""

from __future__ import annotations

import re
from functools import lru_cache

_COMMON = re.compile(
    r"https?://([a-z0-9.-]+(?::\d+)?)/([\w/.~!$'()*+,;=:@-]*)(?:\?([\w/.~!$'()*+,;=:@&?-]*))?", re.ASCII
)
"""URLs of nothing unusual: their path is looked at for dots, slashes and session ids."""
_UNUSUAL = re.compile(r"//|/\.|/\(|sid=|sessionid|cftoken=", re.IGNORECASE)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_HIERARCHICAL = re.compile(
    r"(https?|ftp|rtsp|mms|gopher|wais|telnet|nntp|wss?|sftp|s3|svn|git|rsync):/*", re.IGNORECASE
)
_OPAQUE = re.compile(
    r"(?:filedesc|warcinfo|dns|urn|mailto|data|javascript|screenshot|tel|about|blob|metadata|cid):", re.IGNORECASE
)
_WWW = re.compile(r"^www\d*\.")
_DECIMAL = re.compile(r"\d+(?:\.\d+){0,3}")
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_MUST_ESCAPE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_HOST_ESCAPE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_PORTS = {"http": "80", "https": "443"}
_MAX_ROUNDS = 20
"""Escapes of escapes that are undone; more are a game."""

_PATH_SESSIONS = (
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$", re.IGNORECASE),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$", re.IGNORECASE),
)
_QUERY_SESSIONS = (
    re.compile(r"^(.*)(?:jsessionid=[0-9a-zA-Z]{32})(?:&(.*))?$", re.IGNORECASE),
    re.compile(r"^(.*)(?:phpsessid=[0-9a-zA-Z]{32})(?:&(.*))?$", re.IGNORECASE),
    re.compile(r"^(.*)(?:sid=[0-9a-zA-Z]{32})(?:&(.*))?$", re.IGNORECASE),
    re.compile(r"^(.*)(?:ASPSESSIONID[a-zA-Z]{8}=[a-zA-Z]{24})(?:&(.*))?$", re.IGNORECASE),
    re.compile(r"^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$", re.IGNORECASE),
)


def surt(url: str) -> str:
    """Return the key of a URL; of what is no URL, something that sorts. Never raises."""
    common = _COMMON.fullmatch(url)
    if common is not None and _UNUSUAL.search(url, 8) is None:
        authority, path, query = common.groups()
        key = f"{_reversed(authority, url[:5] == 'https')})/{path.rstrip('/')}".lower()
        return f"{key}?{_sorted(query)}" if query else key
    return _unusual(url)


def _unusual(url: str) -> str:
    url = re.sub(r"[\t\r\n]", "", url.strip())
    if not url:
        return "-"
    if _OPAQUE.match(url):
        return "".join(url.split()).lower().rstrip("/") or "-"
    match = _HIERARCHICAL.match(url)
    if match is not None:
        scheme, rest = match[1].lower(), url[match.end() :]
    elif "://" in url and _SCHEME.match(url):
        scheme, _, rest = url.partition("://")
        scheme = scheme.lower()
    else:
        scheme, rest = "http", url.lstrip("/")
    rest = rest.partition("#")[0]
    before, mark, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    host, port = _authority(authority)
    key = _host(host) + (f":{port}" if port and port != _PORTS.get(scheme) else "")
    return f"{key}){_path(slash + path)}{_query(query) if mark else ''}".lower()


def _authority(text: str) -> tuple[str, str]:
    host = text.rpartition("@")[2]
    if host.startswith("[") and "]" in host:
        address, _, port = host[1:].partition("]")
        return address, _number(port.removeprefix(":"))
    name, colon, port = host.rpartition(":")
    return (name, _number(port)) if colon and (port.isdigit() or not port) else (host, "")


def _number(port: str) -> str:
    return str(int(port)) if port.isascii() and port.isdigit() and len(port) < 20 else ""


@lru_cache(maxsize=65_536)
def _reversed(authority: str, secure: bool) -> str:
    name, _, port = authority.partition(":")
    port = _number(port)
    return _host(name) + (f":{port}" if port and port != ("443" if secure else "80") else "")


def _host(host: str) -> str:
    """The labels in reverse; of an address too, as the Archive's tools do."""
    raw = _unescaped(host.encode("utf-8", "replace"))
    try:
        text = raw.decode()
        host = text.encode("idna").decode() if not text.isascii() else text
    except UnicodeError:
        host = _HOST_ESCAPE.sub(_escaped, raw).decode("latin-1")
    host = re.sub(r"\.\.+", ".", host).strip(".").lower()
    if _DECIMAL.fullmatch(host):
        host = _dotted(host)
    host = _HOST_ESCAPE.sub(_escaped, host.encode("utf-8", "replace")).decode("latin-1").lower()
    return ",".join(reversed(_WWW.sub("", host).split(".")))


def _dotted(host: str) -> str:
    """An address of one to four numbers as four, as C's inet_aton reads it; as it was where that would not."""
    try:
        numbers = [int(part, 8 if part[0] == "0" else 10) for part in host.split(".")]
    except ValueError:
        return host
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 1 << 8 * (4 - len(first)):
        return host
    rest = last.to_bytes(4 - len(first), "big")
    return ".".join(str(number) for number in (*first, *rest))


def _path(path: str) -> str:
    text = _minimal(path or "/")
    parts: list[str] = []
    for part in text.split("/")[1:]:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    text = re.sub("//+", "/", "/" + "/".join(parts))
    for session in _PATH_SESSIONS:
        if found := session.match(text):
            text = found[1] + found[2]
    return text.rstrip("/") or "/"


def _query(query: str) -> str:
    text = _minimal(query)
    for session in _QUERY_SESSIONS:
        if found := session.match(text):
            text = found[1] + (found[2] or "")
    text = _sorted(text)
    return f"?{text}" if text else ""


def _sorted(query: str) -> str:
    """The parameters by name, then by value."""
    return "&".join(sorted(query.lower().split("&"), key=lambda each: each.partition("=")))


def _minimal(text: str) -> str:
    return _MUST_ESCAPE.sub(_escaped, _unescaped(text.encode("utf-8", "surrogatepass"))).decode("latin-1")


def _unescaped(data: bytes) -> bytes:
    for _ in range(_MAX_ROUNDS):
        once = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), data)
        if once == data:
            break
        data = once
    return data


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]
