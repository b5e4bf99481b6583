// Markdown as DOM nodes. Text only ever becomes text nodes: there is no HTML to escape.

const LINK_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const MAX_DEPTH = 6;

/** An element with children; a string child is text. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on") && typeof value === "function") {
      element.addEventListener(key.slice(2), value);
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.filter((each) => each !== null && each !== undefined));
  return element;
}

/**
 * The address of a link, or "" if it must not be one. The URL parser removes tabs, line feeds and
 * leading control characters, so the scheme is checked after parsing, never before.
 */
export function safeAddress(text) {
  try {
    const url = new URL(text);
    return LINK_PROTOCOLS.has(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

function link(address, children) {
  const href = safeAddress(address);
  if (!href) return h("span", { class: "dead-link", title: "not a web address" }, ...children);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href }, ...children);
}

/** Where delimiters are, each found once: otherwise many openers without an end cost a search each. */
class Finder {
  constructor(text) {
    this.text = text;
    this.known = new Map();
  }

  next(what, from) {
    const known = this.known.get(what);
    if (known !== undefined && (known === -1 || known >= from)) return known;
    const found = this.text.indexOf(what, from);
    this.known.set(what, found);
    return found;
  }
}

const SPECIAL = /[\\`*_~[!<]|https?:\/\//g;
const URL_TEXT = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*_]/y;
const AUTO = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

/** Nodes of text with emphasis, code and links. */
export function inline(text, depth = 0) {
  const nodes = [], finder = new Finder(text);
  const special = new RegExp(SPECIAL);
  let plain = 0, at = 0;
  const flush = (end) => end > plain && nodes.push(document.createTextNode(text.slice(plain, end)));
  const put = (start, end, node) => {
    flush(start);
    nodes.push(node);
    plain = at = end;
  };
  for (;;) {
    special.lastIndex = at;
    const found = special.exec(text);
    if (!found) break;
    at = found.index;
    const char = text[at];
    if (char === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      put(at, at + 2, document.createTextNode(text[at + 1]));
    } else if (char === "`") {
      let ticks = 1;
      while (text[at + ticks] === "`") ticks += 1;
      const fence = "`".repeat(Math.min(ticks, 8)), end = finder.next(fence, at + ticks);
      if (end < 0) at += ticks;
      else put(at, end + fence.length, h("code", {}, text.slice(at + ticks, end).trim()));
    } else if (char === "h") {
      URL_TEXT.lastIndex = at;
      const url = URL_TEXT.exec(text);
      if (url) put(at, at + url[0].length, link(url[0], [url[0]]));
      else at += 4;
    } else if (char === "<") {
      AUTO.lastIndex = at;
      const url = AUTO.exec(text);
      if (url) put(at, at + url[0].length, link(url[1], [url[1]]));
      else at += 1;
    } else if (char === "[" || (char === "!" && text[at + 1] === "[")) {
      // Pictures are links: a page that loads them would show their server who reads.
      const start = char === "!" ? at + 2 : at + 1;
      const middle = finder.next("](", start);
      const end = middle < 0 || middle - start > 1000 ? -1 : closing(text, middle + 2);
      if (end < 0 || depth > MAX_DEPTH) at = start;
      else {
        const words = text.slice(start, middle), target = text.slice(middle + 2, end).trim();
        const address = target.replace(/\s+["'(].*$/s, "").replace(/^<|>$/g, "");
        put(at, end + 1, link(address, inline(words || address, depth + 1)));
      }
    } else if (char === "!") at += 1;
    else {
      const mark = MARKS.find(([each]) => text.startsWith(each, at));
      if (!mark) at += 1;
      else if (!emphasise(mark, text, at, depth, finder, put)) at += mark[0].length;
    }
  }
  flush(text.length);
  return nodes;
}

function emphasise([mark, name], text, at, depth, finder, put) {
  const start = at + mark.length;
  if (depth > MAX_DEPTH || /\s|^$/.test(text[start] ?? "")) return false;
  if (mark[0] === "_" && /\w/.test(text[at - 1] ?? "")) return false; // snake_case
  let end = finder.next(mark, start);
  // A single mark does not end at a double one.
  for (let tries = 0; mark.length === 1 && end >= 0 && text[end + 1] === mark && tries < 8; tries++) {
    end = finder.next(mark, end + 2);
  }
  if (end <= start || /\s/.test(text[end - 1])) return false;
  if (mark[0] === "_" && /\w/.test(text[end + mark.length] ?? "")) return false;
  put(at, end + mark.length, h(name, {}, ...inline(text.slice(start, end), depth + 1)));
  return true;
}

function closing(text, from) {
  let open = 1;
  for (let at = from; at < text.length && at < from + 2000; at++) {
    if (text[at] === "(") open += 1;
    else if (text[at] === ")" && --open === 0) return at;
    else if (text[at] === "\n") return -1;
  }
  return -1;
}

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^\s`]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** Block nodes of a whole text. */
export function markdown(text, depth = 0) {
  return blocks(text.split(/\r\n?|\n/), depth);
}

function blocks(lines, depth) {
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let found;
    if (!line.trim()) at += 1;
    else if ((found = FENCE.exec(line))) {
      const fence = found[2], start = ++at;
      while (at < lines.length && !isFenceEnd(lines[at], fence)) at += 1;
      nodes.push(codeBlock(lines.slice(start, at).join("\n"), found[3]));
      at += 1;
    } else if ((found = HEADING.exec(line))) {
      nodes.push(h(`h${Math.min(6, found[1].length + 2)}`, {}, ...inline(found[2])));
      at += 1;
    } else if (RULE.test(line)) {
      nodes.push(h("hr"));
      at += 1;
    } else if (/^ {0,3}>/.test(line) && depth < MAX_DEPTH) {
      const start = at;
      while (at < lines.length && /^ {0,3}>/.test(lines[at])) at += 1;
      const inner = lines.slice(start, at).map((each) => each.replace(/^ {0,3}> ?/, ""));
      nodes.push(h("blockquote", {}, ...blocks(inner, depth + 1)));
    } else if (ITEM.test(line) && depth < MAX_DEPTH) {
      at = list(lines, at, depth, nodes);
    } else if (line.includes("|") && at + 1 < lines.length && DIVIDER.test(lines[at + 1]) && lines[at + 1].includes("-")) {
      at = table(lines, at, nodes);
    } else {
      const start = at++;
      while (at < lines.length && lines[at].trim() && !interrupts(lines[at], depth)) at += 1;
      const words = lines.slice(start, at).map((each) => each.trim()).join("\n");
      nodes.push(h("p", {}, ...inline(words)));
    }
  }
  return nodes;
}

function isFenceEnd(line, fence) {
  const found = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line);
  return Boolean(found) && found[1][0] === fence[0] && found[1].length >= fence.length;
}

function interrupts(line, depth) {
  const item = depth < MAX_DEPTH && ITEM.test(line);
  return FENCE.test(line) || HEADING.test(line) || /^ {0,3}>/.test(line) && depth < MAX_DEPTH || item;
}

export function codeBlock(text, language = "") {
  return h(
    "pre",
    { tabindex: "0", "aria-label": language ? `code, ${language}` : "code" },
    h("code", {}, text),
  );
}

function list(lines, at, depth, nodes) {
  const first = ITEM.exec(lines[at]);
  const isOrdered = /\d/.test(first[2]), indent = first[1].length;
  const start = isOrdered ? Number.parseInt(first[2], 10) : 1;
  const items = [];
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]);
    if (!found || found[1].length !== indent || /\d/.test(found[2]) !== isOrdered) break;
    const inside = indent + found[2].length + Math.max(1, Math.min(4, found[3].length));
    const own = [found[4]];
    at += 1;
    while (at < lines.length) {
      const line = lines[at], width = /^\s*/.exec(line)[0].length;
      if (!line.trim()) {
        const after = lines[at + 1] ?? "";
        if (!after.trim() || /^\s*/.exec(after)[0].length <= indent) break;
        own.push("");
      } else if (width > indent) own.push(line.slice(Math.min(width, inside)));
      else if (!ITEM.test(line) && !interrupts(line, depth) && own.at(-1)?.trim()) own.push(line);
      else break;
      at += 1;
    }
    items.push(item(own, depth));
    const blank = at;
    while (at < lines.length && !lines[at].trim()) at += 1;
    const next = ITEM.exec(lines[at] ?? "");
    if (!next || next[1].length !== indent) {
      at = blank;
      break;
    }
  }
  const attributes = isOrdered && start !== 1 ? { start: String(start) } : {};
  nodes.push(h(isOrdered ? "ol" : "ul", attributes, ...items));
  return at;
}

function item(lines, depth) {
  const task = /^\[([ xX])\]\s+/.exec(lines[0]);
  const done = task && task[1] !== " ";
  if (task) lines[0] = lines[0].slice(task[0].length);
  const inner = blocks(lines, depth + 1);
  const content = inner[0]?.tagName === "P" ? [...inner[0].childNodes, ...inner.slice(1)] : inner;
  if (!task) return h("li", {}, ...content);
  const mark = h("span", { class: "task", role: "img", "aria-label": done ? "done" : "open" }, done ? "☑ " : "☐ ");
  return h("li", { class: "task-item" }, mark, ...content);
}

function table(lines, at, nodes) {
  const sides = cells(lines[at + 1]).map((each) =>
    /^:-+:$/.test(each) ? "center" : /-:$/.test(each) ? "end" : "start",
  );
  const row = (line, name) =>
    h("tr", {}, ...cells(line).slice(0, sides.length).map((each, number) =>
      h(name, { class: `to-${sides[number]}` }, ...inline(each))));
  const head = row(lines[at], "th"), body = [];
  at += 2;
  while (at < lines.length && lines[at].trim() && lines[at].includes("|")) {
    body.push(row(lines[at], "td"));
    at += 1;
  }
  const whole = h("table", {}, h("thead", {}, head), h("tbody", {}, ...body));
  nodes.push(h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "table" }, whole));
  return at;
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((each) => each.replaceAll("\\|", "|").trim());
}

/**
 * Where a growing text can be cut: what is before will not change any more. That is after the last
 * empty line that is not inside a fence, and not within a list, whose numbers would start again.
 */
export function stableEnd(text, from) {
  let end = from, at = from, fence = "";
  let isList = false, wasBlank = false;
  while (at < text.length) {
    let stop = text.indexOf("\n", at);
    if (stop < 0) break;
    const line = text.slice(at, stop);
    const found = FENCE.exec(line);
    if (fence) {
      if (isFenceEnd(line, fence)) {
        fence = "";
        if (!isList) end = stop + 1;
      }
    } else if (found) fence = found[2];
    else if (!line.trim()) {
      if (!isList) end = stop + 1;
    } else if (ITEM.test(line)) isList = true;
    else if (isList && wasBlank && !/^\s/.test(line)) {
      isList = false;
      end = at;
    }
    wasBlank = !line.trim();
    at = stop + 1;
  }
  return end;
}
