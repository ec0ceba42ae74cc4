"""``--auth FILE.toml``: to which origins a crawl logs in, how, and where the secrets are; never the secrets themselves.

::

    [[site]]
    origin = "https://wiki.example"       # exactly this origin
    kind = "form"                         # basic | digest | bearer | header | cookies | form
    login = "https://wiki.example/login"  # form: the page with the form; its hidden fields are sent back
    fields = { username = "env:WIKI_USER", password = "keyring:fyke/wiki" }   # or file:PATH, ask:
    check = "https://wiki.example/me"     # form: a page that shows ...
    logged_in = "Log out"                 # ... these words to whoever is logged in
    avoid = ["/logout", "/account/delete"]
"""

from __future__ import annotations

import getpass
import importlib
import os
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fyke.errors import UserError
from fyke.fetch.sessions import Credentials, basic, header_line, parse_header, read_cookies
from fyke.url import Url

KINDS = ("basic", "digest", "bearer", "header", "cookies", "form")
_SOURCES = ("env", "keyring", "file", "ask")
_NEEDS = {"basic": ("username", "password"), "digest": ("username", "password"), "bearer": ("token",)}


class _Site(msgspec.Struct, forbid_unknown_fields=True):
    origin: str
    kind: str
    login: str = ""
    fields: dict[str, str] = {}
    file: str = ""
    check: str = ""
    logged_in: str = ""
    avoid: list[str] = []


class _File(msgspec.Struct, forbid_unknown_fields=True):
    site: list[_Site]


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in to an origin by its form."""

    origin: str
    page: str
    fields: tuple[tuple[str, str], ...] = field(repr=False)
    check: str = ""
    logged_in: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of one origin."""

    origin: str
    kind: str
    credentials: Credentials | None = None
    cookies: tuple[str, ...] = field(default=(), repr=False)
    login: Login | None = None
    avoid: tuple[str, ...] = ()


def read_auth(path: Path) -> list[Account]:
    """Read a file of accounts, with their secrets. Raises ``UserError`` that names what is missing, and no secret."""
    try:
        said = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {error}; each account is a table [[site]] with origin, kind and fields") from None
    return [_account(path, site) for site in said.site]


def _account(path: Path, site: _Site) -> Account:
    where = f"{path}, {site.origin}"
    try:
        origin = Url.parse(site.origin if "://" in site.origin else f"https://{site.origin}").site
    except ValueError as error:
        raise UserError(f'{where}: {error}; write origin = "https://wiki.example"') from None
    if site.kind not in KINDS:
        raise UserError(f"{where}: kind is one of {', '.join(KINDS)}, not {site.kind!r}")
    for name in _NEEDS.get(site.kind, ()):
        if name not in site.fields:
            raise UserError(f'{where}: {site.kind} needs {name}: fields = {{ {name} = "env:NAME" }}')
    avoid = tuple(site.avoid)
    if site.kind == "cookies":
        if not site.file:
            raise UserError(f"{where}: cookies needs file, a Netscape file or a storage state")
        return Account(origin, site.kind, cookies=tuple(read_cookies(path.parent / site.file)), avoid=avoid)
    found = {
        name: _secret(where, name, said, path.parent, hidden=name != "username") for name, said in site.fields.items()
    }
    if site.kind == "form":
        return Account(origin, site.kind, login=_login(where, origin, site, found), avoid=avoid)
    return Account(origin, site.kind, _credentials(site.kind, found), avoid=avoid)


def _credentials(kind: str, found: dict[str, str]) -> Credentials:
    if kind == "basic":
        return basic(found["username"], found["password"])
    if kind == "digest":
        return Credentials(digest=f"{found['username']}:{found['password']}")
    if kind == "bearer":
        found = {"Authorization": f"Bearer {found['token']}"}
    return Credentials(tuple(header_line(*parse_header(f"{name}: {value}")) for name, value in found.items()))


def _login(where: str, origin: str, site: _Site, found: dict[str, str]) -> Login:
    if not site.login or not found:
        raise UserError(f"{where}: form needs login, the address of the page with the form, and fields to fill in")
    page = Url.parse(site.login)
    if page.site != origin:
        raise UserError(f"{where}: the login page is at {page.site}; an account is of one origin")
    check = Url.parse(site.check).href if site.check else ""
    return Login(origin, page.href, tuple(found.items()), check, site.logged_in)


def _secret(where: str, name: str, said: str, folder: Path, *, hidden: bool) -> str:
    """Return what ``env:NAME``, ``keyring:SERVICE/USER``, ``file:PATH`` or ``ask:`` stand for."""
    source, colon, rest = said.partition(":")
    if not colon or source not in _SOURCES:
        raise UserError(f"{where}: {name} is written out; write env:NAME, keyring:SERVICE/USER, file:PATH or ask:")
    value: str | None
    if source == "env":
        value = os.environ.get(rest)
        if value is None:
            raise UserError(f"{where}: {name} is in the variable {rest}, which is not set")
    elif source == "file":
        try:
            value = (folder / rest).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{where}: {name} is in the file {rest}: {error}") from None
    elif source == "keyring":
        value = _from_keyring(where, rest)
    else:
        if not sys.stdin.isatty():
            raise UserError(f"{where}: {name} is to be asked for, and nobody is there; write env:NAME")
        question = f"{name} for {where.rpartition(', ')[2]}: "
        value = getpass.getpass(question) if hidden else input(question)
    if re.search(r"[\x00\r\n]", value):
        raise UserError(f"{where}: {name} has more than one line")
    return value


def _from_keyring(where: str, rest: str) -> str:
    service, _, user = rest.rpartition("/")
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError:
        raise UserError(f"{where}: reading a keyring needs a package: pip install keyring") from None
    value = keyring.get_password(service, user)
    if value is None:
        raise UserError(f"{where}: the keyring has nothing for {service}, {user}")
    return str(value)
