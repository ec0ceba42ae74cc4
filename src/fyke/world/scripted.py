"""Hosts whose pages are made by scripts, in the manners of several frameworks; what is true of a page stays true.

A scripted host answers for a page with a shell; a script puts the page together from what it fetches (``/_data/…``)
or from what the shell holds. The manners:

- ``root``: an empty ``div``, a script behind a ``noscript``, one request for the data;
- ``module``: a module that loads a chunk, which waits a moment and asks for the data;
- ``data``: everything is in a JSON script of the shell, and a script that makes elements of it;
- ``component``: a custom element with a closed shadow tree;
- ``list``: as ``root``, but listings show ten items, and ten more when they are scrolled to their end.
"""

from __future__ import annotations

import json
import re
from html import unescape

MANNERS = ("root", "module", "data", "component", "list")
SCRIPTS, DATA = "/_app/", "/_data"
AT_ONCE = 10
"""Items that an endless list shows at a time."""

_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL)
_ITEM = re.compile(r'<li><a href="[^"]*">[^<]*</a><p>.*?</p></li>', re.DOTALL)
_LINK = re.compile(r'<a href="([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
_TEXT = re.compile(r"<(p|h1|h2|h3|td|dd|li|pre)\b[^>]*>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_PADDING = "// what a framework would be\n" * 300

_SHOW = """
export const show = (place) => fetch('/_data' + location.pathname).then((answer) => answer.json()).then((page) => {
  document.title = page.title;
  place.innerHTML = page.body;
  let rest = page.items;
  const more = () => {
    const list = place.querySelector('[data-list]');
    if (list) list.insertAdjacentHTML('beforebegin', rest.splice(0, 10).join(''));
  };
  addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 50) more() });
});
"""
_APPS = {
    "root.js": f"{_SHOW.replace('export ', '')} show(document.getElementById('root')); {_PADDING}",
    "main.js": f"import('/_app/chunk.js').then((chunk) => setTimeout(() => chunk.show(app), 200)); {_PADDING}",
    "chunk.js": _SHOW + _PADDING,
    "data.js": """
const data = JSON.parse(document.getElementById('__NEXT_DATA__').textContent).props;
const place = document.getElementById('__next');
document.title = data.title;
const put = (name, text) => {
  const made = document.createElement(name);
  made.textContent = text;
  place.append(made);
  return made;
};
put('h1', data.title);
for (const text of data.texts) put('p', text);
for (const link of data.links) put('a', link.text).setAttribute('href', link.href);
"""
    + _PADDING,
    "component.js": f"""{_SHOW.replace("export ", "")}
customElements.define('page-app', class extends HTMLElement {{
  connectedCallback() {{ const tree = this.attachShadow({{mode: 'closed'}}), place = document.createElement('main');
    tree.append(place); show(place) }}
}}); {_PADDING}""",
}
_SHELLS = {
    "root": '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
    '<script defer src="/_app/root.js"></script>',
    "module": '<div id="app"><!--app-html--></div><script type="module" src="/_app/main.js"></script>',
    "data": '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{data}</script>'
    '<script src="/_app/data.js"></script>',
    "component": '<page-app></page-app><script src="/_app/component.js"></script>',
}
_SHELLS["list"] = _SHELLS["root"]


def shell(manner: str, html: str) -> bytes:
    """What the server sends in the place of the page ``html``."""
    body = _SHELLS[manner].replace("{data}", _props(html) if manner == "data" else "")
    return (
        '<!doctype html><html><head><meta charset="utf-8"><title>Loading</title>'
        f'<meta name="viewport" content="width=device-width"></head><body>{body}</body></html>'
    ).encode()


def script(name: str) -> bytes | None:
    """A script of a scripted host."""
    found = _APPS.get(name)
    return None if found is None else found.encode()


def data(manner: str, html: str) -> bytes:
    """What a script fetches to make the page ``html`` of."""
    body, rest = _body(html), []
    if manner == "list":
        items = list(_ITEM.finditer(body))
        if len(items) > AT_ONCE:
            rest = [each[0] for each in items[AT_ONCE:]]
            start, end = items[AT_ONCE].start(), items[-1].end()
            body = f"{body[:start]}<li data-list></li>{body[end:]}"
    return json.dumps({"title": _title(html), "body": body, "items": rest}, ensure_ascii=False).encode()


def _title(html: str) -> str:
    found = _TITLE.search(html)
    return unescape(found[1]) if found else ""


def _body(html: str) -> str:
    found = _BODY.search(html)
    return found[1] if found else html


def _props(html: str) -> str:
    """The page as data: its texts and its links."""
    body = _body(html)
    texts = [" ".join(unescape(_TAG.sub(" ", each[2])).split()) for each in _TEXT.finditer(body)]
    links = [
        {"href": unescape(each[1]), "text": unescape(_TAG.sub("", each[3]))}
        for each in _LINK.finditer(body)
        if "nofollow" not in each[2]
    ]
    props = {"title": _title(html), "texts": [text for text in texts if text], "links": links}
    return json.dumps({"props": props}, ensure_ascii=False).replace("<", "\\u003c")
