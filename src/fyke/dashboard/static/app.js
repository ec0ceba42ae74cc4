// The whole script: live sections while somebody looks, tables that sort, "/" goes to the search field.
"use strict";
const live = document.querySelector("[data-live]");
let source = null;
function look() {
  if (!live || source || document.hidden) return;
  source = new EventSource(live.dataset.live);
  source.onmessage = (event) => {
    const parts = JSON.parse(event.data);
    for (const name of Object.keys(parts)) {
      const section = document.getElementById(name);
      // Made by the server's templates, which escape all that is stored; the page's policy runs no script in it.
      if (section && live.contains(section)) section.innerHTML = parts[name];
    }
    live.dataset.seen = String(Number(live.dataset.seen || 0) + 1);
  };
  source.onerror = () => {  // refused, or the server is gone: not at once again
    if (source && source.readyState === EventSource.CLOSED) { source = null; setTimeout(look, 15000); }
  };
}
function rest() { if (source) { source.close(); source = null; } }
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : look()));
addEventListener("pagehide", rest);
addEventListener("pageshow", look);
look();

function value(row, column) {
  const cell = row.cells[column], told = cell.dataset.v || cell.textContent.trim();
  const number = Number(told.replace(/,/g, ""));
  return told !== "" && !Number.isNaN(number) ? number : told;
}
function sort(table, column, button) {
  const down = button.dataset.order !== "down";
  for (const other of table.tHead.querySelectorAll("button")) { delete other.dataset.order; other.parentElement.removeAttribute("aria-sort"); }
  button.dataset.order = down ? "down" : "up";
  button.parentElement.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
  rows.sort(([a], [b]) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1) * (down ? -1 : 1));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}
for (const table of document.querySelectorAll("table[data-sort]")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(table, column, button));
  });
}
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    document.getElementById("find").focus();
  }
});
