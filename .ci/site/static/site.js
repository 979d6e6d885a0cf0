// What scrolls by itself can be reached with the keyboard; what need not scroll is no stop on the way. A formula a little wider than
// its column is set a little smaller. Pictures of several panels get a name, for narrow screens.
(() => {
  "use strict";
  const WIDE = ":is(article, main) :is(table, pre, figure, .math, mjx-container, .cell_output, .cell-output-display, .pst-scrollable-table-container)";
  const mark = () => document.querySelectorAll(WIDE).forEach((e) => {
    const wide = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    const scrolls = wide && ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    if (scrolls) e.tabIndex = 0;
    else if (e.tabIndex === 0 && e.tagName !== "MJX-CONTAINER") e.removeAttribute("tabindex");
  });
  const shrink = () => document.querySelectorAll('mjx-container[display="true"]').forEach((e) => {
    e.style.fontSize = "";
    const box = [e, e.parentElement].find((b) => b.scrollWidth > b.clientWidth + 1);
    if (box && innerWidth > 600) e.style.fontSize = Math.max(75, Math.floor(98 * box.clientWidth / box.scrollWidth)) + "%";
  });
  const after = () => Promise.resolve(window.MathJax?.startup?.promise).then(() => { shrink(); mark(); });
  addEventListener("load", after);
  let soon;
  addEventListener("resize", () => {  // once the sidebars have come to rest
    clearTimeout(soon);
    soon = setTimeout(() => { shrink(); mark(); }, 200);
  });
  document.addEventListener("toggle", mark, true);  // a fold that opens
  const page = document.documentElement.dataset;
  let theme;
  addEventListener("beforeprint", () => { theme = page.theme; if (theme) page.theme = "light"; });  // paper is white
  addEventListener("afterprint", () => { if (theme) page.theme = theme; });
})();
