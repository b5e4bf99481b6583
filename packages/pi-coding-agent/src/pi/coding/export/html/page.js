"use strict";
// Shows, hides and searches the content of the page. Session text is never parsed as markup here,
// and keys have no effect outside of the search field.
(() => {
  const byId = (id) => document.getElementById(id);
  const main = document.querySelector("main");
  const articles = [...main.querySelectorAll("article")];
  const placed = [...main.querySelectorAll("[data-n]")];
  const rows = new Map([...document.querySelectorAll("#outline a")].map((row) => [Number(row.dataset.go), row]));
  const parents = main.dataset.parents ? main.dataset.parents.split(" ").map(Number) : [];

  // The last entry below each one, which is where its branch was left. Parents come first.
  const newest = parents.map((_, node) => node);
  for (let node = parents.length - 1; node >= 0; node--) {
    const parent = parents[node];
    if (parent >= 0) newest[parent] = Math.max(newest[parent], newest[node]);
  }

  let branch = new Set();
  const showBranch = (leaf) => {
    branch = new Set();
    for (let node = leaf; node >= 0; node = parents[node]) branch.add(node);
    for (const element of placed) element.hidden = !branch.has(Number(element.dataset.n));
    for (const [node, row] of rows) row.classList.toggle("here", branch.has(node));
  };

  const go = (node) => {
    if (!branch.has(node)) showBranch(newest[node]);
    const target = byId("n" + node);
    for (const other of main.querySelectorAll("article.current")) other.classList.remove("current");
    target.classList.add("current");
    target.scrollIntoView({ block: "start" });
    document.body.classList.remove("menu");
    byId("menu").setAttribute("aria-expanded", "false");
    return target;
  };

  document.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    const selection = getSelection();
    if (summary && !selection.isCollapsed && selection.containsNode(summary, true)) {
      event.preventDefault(); // the user was selecting text, not folding
      return;
    }
    const way = event.target.closest("[data-go]");
    if (way) {
      event.preventDefault();
      go(Number(way.dataset.go));
    } else if (event.target.matches("img.picture")) {
      event.target.classList.toggle("full");
    } else if (!event.target.closest("#outline, #menu")) {
      document.body.classList.remove("menu");
    }
  });

  const toggle = (id, act) => {
    const button = byId(id);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      act(on);
    });
  };
  toggle("unfold", (on) => {
    for (const details of main.querySelectorAll("article details")) details.open = on;
  });
  toggle("asides", (on) => document.body.classList.toggle("everything", on));
  byId("menu").addEventListener("click", () => {
    const open = document.body.classList.toggle("menu");
    byId("menu").setAttribute("aria-expanded", String(open));
  });

  const remembered = {
    get: () => { try { return localStorage.getItem("pi-export-theme"); } catch { return null; } },
    set: (theme) => { try { localStorage.setItem("pi-export-theme", theme); } catch { /* not allowed here */ } },
  };
  const setTheme = (theme) => { document.documentElement.dataset.theme = theme; };
  if (["light", "dark"].includes(remembered.get())) setTheme(remembered.get());
  byId("theme").addEventListener("click", () => {
    const chosen = document.documentElement.dataset.theme;
    const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    setTheme(dark ? "light" : "dark");
    remembered.set(dark ? "light" : "dark");
  });

  // Search goes through all branches; a match on another one brings that branch to the front.
  const field = byId("find");
  let texts = null;
  let matches = [];
  let current = -1;
  const mark = (article, words) => {
    if (!("highlights" in CSS)) return;
    const ranges = [];
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.toLowerCase();
      for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, Math.min(at + words.length, walker.currentNode.length));
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
    return ranges[0];
  };
  const step = (by) => {
    if (!matches.length) return;
    current = (current + by + matches.length) % matches.length;
    byId("found").textContent = `${current + 1} of ${matches.length}`;
    const article = go(Number(matches[current].dataset.n));
    const words = field.value.trim().toLowerCase();
    for (const details of article.querySelectorAll("details")) {
      if (details.textContent.toLowerCase().includes(words)) details.open = true;
    }
    const first = mark(article, words);
    if (first) first.startContainer.parentElement.scrollIntoView({ block: "center" });
  };
  const search = () => {
    const words = field.value.trim().toLowerCase();
    texts ??= articles.map((article) => article.textContent.toLowerCase());
    const everything = document.body.classList.contains("everything");
    matches = articles.filter((article, index) =>
      words && texts[index].includes(words) && (everything || !article.classList.contains("aside")));
    current = -1;
    byId("found").textContent = words ? `${matches.length} found` : "";
    if ("highlights" in CSS) CSS.highlights.delete("found");
  };
  let waiting = 0;
  const searchNow = () => {
    if (!waiting) return;
    clearTimeout(waiting);
    waiting = 0;
    search();
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(searchNow, 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    searchNow();
    step(event.shiftKey ? -1 : 1);
  });
  byId("next").addEventListener("click", () => step(1));
  byId("previous").addEventListener("click", () => step(-1));

  showBranch(Number(main.dataset.leaf));
  const asked = /^#n(\d+)$/.exec(location.hash);
  if (asked && byId("n" + asked[1])) go(Number(asked[1]));
})();
