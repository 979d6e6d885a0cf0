// What scrolls by itself can be reached with the keyboard; what need not scroll is no stop on the way. A formula a little wider than
// its column is set a little smaller; on a phone the panels of a widget stand alone; a full stop or comma stays on its line. Printed sentences wrap, printed columns do not.
(() => {
  "use strict";
  const WIDE = ":is(article, main) :is(table, pre, figure, .math, mjx-container, .cell_output, .cell-output-display, .pst-scrollable-table-container)";
  const narrow = matchMedia("(max-width: 600px)"), wider = (e) => e.scrollWidth > e.clientWidth + 1;
  const tooWide = (e) => [e, e.parentElement].find(wider);
  const mark = () => document.querySelectorAll(WIDE).forEach((e) => {
    const wide = wider(e) || e.scrollHeight > e.clientHeight + 1;
    const scrolls = wide && ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    e.onscroll = () => e.classList.toggle("scrolls", scrolls && e.scrollLeft + e.clientWidth < e.scrollWidth - 2);
    e.onscroll();
    if (scrolls) e.tabIndex = 0;
    else if (e.tabIndex === 0 && e.tagName !== "MJX-CONTAINER") e.removeAttribute("tabindex");
  });
  const cards = (which = "") => document.querySelectorAll(`:is(article, main) table${which}`).forEach((e) => {  // on a phone, of few rows or of words
    e.classList.remove("cards");
    const box = e.closest(".pst-scrollable-table-container") ?? e, heads = e.tHead?.rows ?? [], rows = [...(e.tBodies[0]?.rows ?? [])];
    const fits = !narrow.matches || !wider(box);
    const few = rows.length <= 4 || e.matches(".table") || rows.some((row) => row.textContent.length > 160);
    if (fits || !few || heads.length !== 1 || e.querySelector("[rowspan], [colspan], thead .math")) return;
    rows.forEach((row) => [...row.cells].forEach((cell, k) => { cell.dataset.name = heads[0].cells[k].textContent.trim(); }));
    e.classList.add("cards");
  });
  cards(":not(:has(.math))");  // before it is painted
  const parts = (tex, mark) => [...tex.matchAll(/\\[a-z]+|\\.|[^]/gi)].reduce(([depth, found], [token]) => {  // at `mark` outside of brackets
    if (!depth && mark.test(token)) found.push(token);
    else found.push(found.pop() + token);
    return [depth + "([{".includes(token) - ")]}".includes(token), found];
  }, [0, [""]])[1];
  const under = (tex) => {  // a chain of relations
    const [first, next, ...more] = parts(tex, /^(=|\\(le|ge|propto|approx|equiv|Longleftrightarrow))$/);
    if (first.length > 40 && next && !more.length) return `\\begin{aligned} & ${first} \\\\ & ${next} \\end{aligned}`;
    return more.length && tex.length > 50 ? `\\begin{aligned} ${first} & ${[next, ...more].join(" \\\\ & ")} \\end{aligned}` : tex;
  };
  const stack = () => narrow.matches && [...(window.MathJax?.startup?.document?.math ?? [])].forEach((m) => {  // on a phone
    const tag = m.math.match(/\\tag\{.*?\}/)?.[0] ?? "", tex = m.math.replace(tag, "");
    if (!m.display || /\\begin|\\\\/.test(tex) || !tooWide(m.typesetRoot)) return;
    const lines = parts(tex, /^\\q?quad$/).map((line) => under(line.replace(/^\\q?quad/, "")));
    m.math = `\\begin{gathered} ${lines.join(" \\\\ ")} \\end{gathered} ${tag}`;
    m.rerender(MathJax.startup.document, 20);  // from the compiler on
  });
  const shrink = () => document.querySelectorAll("mjx-container").forEach((e) => {
    const size = e.dataset.size ??= e.style.fontSize || "100%";  // MathJax fits it to the letters around it
    e.style.fontSize = size;
    const box = e.hasAttribute("display") && tooWide(e);
    const part = box ? box.clientWidth / box.scrollWidth : e.closest("p, li, td, th, div").clientWidth / e.offsetWidth;
    if (part < 1) e.style.fontSize = parseFloat(size) * Math.max(narrow.matches ? .62 : .75, .98 * part) + "%";
  });
  const join = () => document.querySelectorAll("span.math").forEach((e) => {
    const [stop] = e.nextSibling?.data?.match(/^[.,;:)?!]+/) ?? [];
    if (!stop) return;
    e.style.whiteSpace = "nowrap";
    e.append(e.nextSibling.splitText(stop.length).previousSibling);
  });
  document.querySelectorAll(":is(.cell_output, .cell-output) pre").forEach((e) => {
    if (!/\S {2,}\S/.test(e.textContent)) e.style.whiteSpace = "pre-wrap";
  });
  const phone = matchMedia("(max-width: 900px)");
  const panels = () => phone.matches && document.querySelectorAll(".panels > img[data-view]").forEach((e) => {
    e.src = e.closest("figure").querySelector("[data-whole]").src + e.dataset.view;
  });
  panels();
  phone.addEventListener("change", panels);
  document.querySelectorAll(".highlight-sh").forEach((e) => {  // a line for the shell is there to be copied (Quarto has its own button)
    const copy = Object.assign(document.createElement("button"), {type: "button", className: "copy", textContent: "copy"});
    copy.onclick = () => navigator.clipboard.writeText(e.querySelector("pre").textContent.trim()).then(() => { copy.textContent = "copied"; });
    e.append(copy);
  });
  const folds = [...document.querySelectorAll("details:is(.hide, .code-fold)")], title = document.querySelector(".subtitle, .description");
  if (folds.length && title) {
    const all = Object.assign(document.createElement("button"), {type: "button", className: "all-code", textContent: "Show all code"});
    all.onclick = () => {
      const open = all.textContent.startsWith("Show");
      folds.forEach((e) => { e.open = open; });
      all.textContent = open ? "Hide all code" : "Show all code";
    };
    title.append(all);
  }
  const settle = () => { stack(); cards(); shrink(); mark(); };
  const after = () => Promise.resolve(window.MathJax?.startup?.promise).then(() => { join(); settle(); document.documentElement.classList.add("set"); });
  addEventListener("load", after);
  let soon;
  const later = () => {  // once the sidebars have come to rest
    clearTimeout(soon);
    soon = setTimeout(settle, 200);
  };
  addEventListener("resize", later);
  document.addEventListener("toggle", later, true);  // a fold that opens
  const page = document.documentElement.dataset;
  let theme;
  addEventListener("beforeprint", () => { theme = page.theme; if (theme) page.theme = "light"; });  // paper is white
  addEventListener("afterprint", () => { if (theme) page.theme = theme; });
})();
