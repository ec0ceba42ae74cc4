"""What runs inside a page, beside its own scripts: before them, to see whether it grows, and to write it out."""

BEFORE = """(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (how) { return attach.call(this, {...how, mode: "open"}) };
  window.close = () => {};
  let left = MOST;
  const fetched = window.fetch, send = XMLHttpRequest.prototype.send;
  window.fetch = function (...what) {
    return left-- > 0 ? fetched.apply(this, what) : Promise.reject(new TypeError("Failed to fetch"));
  };
  XMLHttpRequest.prototype.send = function (...what) {
    if (left-- > 0) return send.apply(this, what);
    setTimeout(() => this.dispatchEvent(new ProgressEvent("error")));
  };
})()"""
"""Shadow trees are open, so that they can be written out; nothing closes the page but we; and a flood of requests ends
after MOST, before it drowns the driver."""

GROWTH = """() => [
  document.readyState !== "loading",
  document.getElementsByTagName("*").length,
  document.body ? document.body.textContent.length : 0,
]"""
"""Whether the page is there, and how large it is."""

SCROLL = """() => {
  const end = document.scrollingElement || document.body;
  if (end) end.scrollTop = end.scrollHeight;
  for (const each of document.querySelectorAll("main, [role=main], [role=feed], #content, .content"))
    if (each.scrollHeight > each.clientHeight + 1) each.scrollTop = each.scrollHeight;
  const more = new RegExp("^\\\\s*((load|show|see|view) more\\\\b|more\\\\s*$|mehr (laden|anzeigen)|" +
    "charger plus|voir plus|cargar más|ver más|carica altri|mostra altri|もっと見る|加载更多)", "i");
  for (const each of document.querySelectorAll("button, [role=button]"))
    if (more.test(each.textContent) && !each.closest("form") && !each.disabled && each.getClientRects().length) {
      each.click();
      break;
    }
}"""
"""Go to the end of the page, and press the button that shows more of a list, if it is outside of any form."""

WRITE = """([most, inner]) => {
  const EMPTY = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
  const RAW = new Set("script style xmp noembed noframes plaintext".split(" "));
  const out = [];
  let size = 0, frames = 0;
  const put = (text) => { size += text.length; if (size > most) throw "full"; out.push(text) };
  const text = (s) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const quoted = (s) => text(s).replace(/"/g, "&quot;");
  const children = (node, framed) => { for (let c = node.firstChild; c; c = c.nextSibling) write(c, framed) };
  const attributes = (node, framed) => {
    for (const each of node.attributes) {
      let value = each.value;
      const address = each.name === "href" || each.name === "src";
      if (framed && address && typeof node[each.name] === "string") value = node[each.name];
      put(` ${each.name}="${quoted(value)}"`);
    }
  };
  const inside = (node, framed) => {
    if (node.shadowRoot) return children(node.shadowRoot, framed);
    const assigned = node.localName === "slot" ? node.assignedNodes() : [];
    if (assigned.length) assigned.forEach((each) => write(each, framed));
    else children(node, framed);
  };
  const frame = (node) => {
    let page = null;
    try { page = node.contentDocument } catch {}
    if (!page || !page.body || ++frames > 20) return;
    put(`<div data-frame="${quoted(page.URL)}">`);
    inside(page.body, true);
    put("</div>");
  };
  function write(node, framed) {
    if (node.nodeType === 3) {
      const raw = node.parentNode && RAW.has(node.parentNode.localName);
      return put(raw ? node.data : text(node.data));
    }
    if (node.nodeType === 8) return put(`<!--${node.data.replace(/--+>?/g, "")}-->`);
    if (node.nodeType !== 1) return;
    const name = node.localName;
    if (name === "template" || (name === "noscript" && node.textContent.trim().length < 300)) return;
    const charset = name === "meta" && (node.hasAttribute("charset") || /^content-type$/i.test(node.httpEquiv));
    if (charset) return put('<meta charset="utf-8">');
    if (name === "noscript") return put(`<noscript>${node.textContent}</noscript>`);
    put("<" + name);
    attributes(node, framed);
    put(">");
    if (EMPTY.has(name)) return;
    if (name !== "iframe") inside(node, framed);
    put(`</${name}>`);
    if (name === "iframe") frame(node);
  }
  let whole = true;
  try {
    if (inner) inside(document.body || document.documentElement, true);
    else { put("<!DOCTYPE html>"); write(document.documentElement, false) }
  } catch (why) {
    whole = false;
    if (why !== "full") return [document.documentElement.outerHTML.slice(0, most), false];
  }
  return [out.join(""), whole];
}"""
"""Write the DOM as HTML: what is shown, in its place; neither templates nor a few words to browsers without scripts.

Arguments: the most characters, and whether only what is inside of the body is wanted, with whole addresses (a frame).
"""
