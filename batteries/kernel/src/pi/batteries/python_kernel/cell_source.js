"use strict";
// Rewrites a JavaScript cell to a script that can run after other cells.
//
// Names that a cell declares must exist in the next one, and declaring them again must not fail:
// `const`, `let` and `class` of the top level become variables of the global object. A cell with
// `await` or `import` becomes the body of an async function. The value of a last expression is kept.
// The standard library has no parser, so this works on tokens. `compiled` in runner.js tries the
// candidates in order and uses the first that is valid; the last one is the unchanged cell.

const KEYWORDS_BEFORE_REGEX = new Set(
  "return typeof case in of delete void throw new do else await yield instanceof".split(" "),
);
const NO_EXPRESSION = new Set(
  "if for while do switch try throw return function class const let var import export break continue debugger with {".split(" "),
);
const BLOCKS = new Set("if for while switch try function class {".split(" "));
/** Words that continue a statement after `}` or a new line. */
const CONTINUES = new Set("else catch finally while instanceof in of as".split(" "));
const OPEN = new Set(["(", "[", "{"]);
const CLOSE = new Set([")", "]", "}"]);
const OPERAND_END = new Set(["name", "number", "string", "template", "regex"]);

/** The tokens of a text: kind, value, start, end, depth, and whether a new line precedes them. */
function tokens(code) {
  const found = [];
  let at = 0, depth = 0, newLine = true;
  const add = (kind, end) => {
    const value = code.slice(at, end);
    if (kind === "mark" && CLOSE.has(value)) depth = Math.max(depth - 1, 0);
    found.push({ kind, value, start: at, end, depth, newLine });
    if (kind === "mark" && OPEN.has(value)) depth += 1;
    newLine = false;
    at = end;
  };
  while (at < code.length) {
    const rest = code.slice(at, at + 2), first = code[at];
    if (first === "\n") { newLine = true; at += 1; }
    else if (/\s/.test(first)) at += 1;
    else if (rest === "//") at = endOf(code, "\n", at);
    else if (rest === "/*") {
      const end = endOf(code, "*/", at + 2) + 2;
      newLine = newLine || code.slice(at, end).includes("\n");
      at = end;
    } else if (first === '"' || first === "'") add("string", quoted(code, at));
    else if (first === "`") add("template", templated(code, at));
    else if (/[\w$#\u0080-\uffff]/.test(first)) {
      const word = /^[\w$#\u0080-\uffff]+/.exec(code.slice(at, at + 1000))[0];
      add(/\d/.test(first) ? "number" : "name", at + word.length);
    } else if (first === "/" && startsRegex(found.at(-1))) add("regex", regex(code, at));
    else if (rest === "=>" || rest === "++" || rest === "--") add("mark", at + 2);
    else add("mark", at + 1);
  }
  return found;
}

function endOf(code, text, from) {
  const at = code.indexOf(text, from);
  return at < 0 ? code.length : at;
}

function quoted(code, start) {
  let at = start + 1;
  while (at < code.length && code[at] !== code[start] && code[at] !== "\n") at += code[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, code.length);
}

function templated(code, start) {
  let at = start + 1;
  while (at < code.length && code[at] !== "`") {
    if (code[at] === "\\") at += 2;
    else if (code.startsWith("${", at)) at = braced(code, at + 2);
    else at += 1;
  }
  return Math.min(at + 1, code.length);
}

/** The end of `${…}`. */
function braced(code, start) {
  let at = start;
  for (let depth = 1; at < code.length && depth > 0; ) {
    if (code[at] === "`") at = templated(code, at);
    else if (code[at] === '"' || code[at] === "'") at = quoted(code, at);
    else {
      depth += code[at] === "{" ? 1 : code[at] === "}" ? -1 : 0;
      at += 1;
    }
  }
  return at;
}

function startsRegex(before) {
  if (before === undefined) return true;
  if (before.kind === "name") return KEYWORDS_BEFORE_REGEX.has(before.value);
  if (before.kind === "mark") return ![")", "]", "}"].includes(before.value);
  return false;
}

function regex(code, start) {
  let at = start + 1, inClass = false;
  while (at < code.length && code[at] !== "\n" && (inClass || code[at] !== "/")) {
    if (code[at] === "[") inClass = true;
    else if (code[at] === "]") inClass = false;
    at += code[at] === "\\" ? 2 : 1;
  }
  return at + 1 + /^[a-z]*/.exec(code.slice(at + 1, at + 10))[0].length;
}

/** The positions of the tokens that begin a statement of the top level. */
function statements(found) {
  const starts = [];
  found.forEach((token, n) => {
    const before = found[n - 1];
    if (token.depth !== 0 || (token.kind === "mark" && CLOSE.has(token.value))) return;
    if (before === undefined || (before.value === ";" && before.depth === 0)) starts.push(n);
    else if (CONTINUES.has(token.value)) return;
    else if (before.value === "}" && before.depth === 0 && (endsBlock(found, starts) || !continuesLine(token))) starts.push(n);
    else if (token.newLine && endsStatement(before) && !continuesLine(token)) starts.push(n);
  });
  return starts;
}

/** Whether `}` ends the last statement: then `(` or a template begins another one. */
function endsBlock(found, starts) {
  const first = found[starts.at(-1)], next = found[starts.at(-1) + 1];
  return BLOCKS.has(first.value) || (first.value === "async" && next?.value === "function");
}

function endsStatement(token) {
  if (OPERAND_END.has(token.kind)) return !KEYWORDS_BEFORE_REGEX.has(token.value);
  return CLOSE.has(token.value) || token.value === "++" || token.value === "--";
}

function continuesLine(token) {
  if (token.kind === "template") return true;
  return token.kind === "mark" && !["{", "++", "--", "!", "~", "@"].includes(token.value);
}

/** Scripts to try for a cell, best first: `{source, isAsync, shows}`. */
function candidates(code) {
  const found = tokens(code), starts = statements(found);
  const isAsync = found.some((token) => token.kind === "name" && token.value === "await")
    || starts.some((n) => found[n].value === "import" && !["(", "."].includes(found[n + 1]?.value));
  const edits = [], functions = [];
  for (const n of starts) declare(found, n, { code, isAsync, edits, functions });
  const last = starts.at(-1);
  const shows = last !== undefined && !NO_EXPRESSION.has(found[last].value)
    && !(found[last].value === "async" && found[last + 1]?.value === "function");
  const plain = { source: code, isAsync: false, shows };
  if (!isAsync) return [{ ...plain, source: edited(code, edits) }, plain];
  const hoisted = functions.map((name) => `globalThis.${name} = ${name};`).join("");
  const wrap = (body) => `(async () => {${hoisted}${body}\n})()`;
  const made = [{ source: wrap(edited(code, edits)), isAsync, shows: false }, plain];
  if (shows) {
    let end = found.at(-1).end;
    if (found.at(-1).value === ";") end = found.at(-1).start;
    const returned = [...edits, [found[last].start, found[last].start, "return ("], [end, end, "\n)"]];
    made.unshift({ source: wrap(edited(code, returned)), isAsync, shows });
  }
  return made;
}

/** Add the edits that make the names of a declaration global. */
function declare(found, n, { code, isAsync, edits, functions }) {
  const token = found[n], next = found[n + 1];
  if (next === undefined) return;
  const isAsyncFunction = token.value === "async" && next.value === "function";
  if (token.value === "function" || isAsyncFunction) {
    const name = found.slice(n + 1, n + 5).find((each) => each.kind === "name" && each.value !== "function");
    if (isAsync && name !== undefined) functions.push(name.value);
  } else if (token.value === "class" && next.kind === "name") {
    edits.push([token.start, token.start, `${isAsync ? "" : "var "}${next.value} = `]);
    const end = found.findIndex((each, k) => k > n && each.value === "}" && each.depth === 0);
    if (end > 0) edits.push([found[end].end, found[end].end, ";"]);
  } else if (["const", "let", "var"].includes(token.value) && (next.kind === "name" || OPEN.has(next.value))) {
    if (isAsync) edits.push([token.start, token.end, "void 0,"]);
    else if (token.value !== "var") edits.push([token.start, token.end, "var"]);
    if (isAsync || token.value === "let") initialise(found, n, edits);
  } else if (token.value === "import" && !["(", "."].includes(next.value)) {
    importInto(found, n, code, edits);
  }
}

/** Give names without a value the value `undefined`: `let a, b = 2`. */
function initialise(found, n, edits) {
  let expects = true;
  for (let k = n + 1; k < found.length; k += 1) {
    const token = found[k], next = found[k + 1];
    if (token.depth !== 0) continue;
    if (token.value === ";" || (k > n + 1 && token.newLine && endsStatement(found[k - 1]) && !continuesLine(token))) return;
    if (token.value === ",") expects = true;
    else if (expects) {
      expects = false;
      const ends = next === undefined || [",", ";"].includes(next.value) || (next.newLine && !continuesLine(next));
      if (token.kind === "name" && ends) edits.push([token.end, token.end, " = undefined"]);
    }
  }
}

/** `import a, {b as c} from "m"` as an assignment from `await import("m")`. */
function importInto(found, n, code, edits) {
  const source = found.findIndex((each, k) => k > n && each.kind === "string" && each.depth === 0);
  if (source < 0) return;
  const imported = `await import(${found[source].value})`;
  const clause = code.slice(found[n].end, found[source].start).replace(/\bfrom\s*$/, "").trim();
  const whole = /\*\s*as\s+([\w$]+)/.exec(clause), named = /\{([^}]*)\}/.exec(clause);
  const first = /^([\w$]+)/.exec(clause);
  const parts = [];
  if (first) parts.push(`default: ${first[1]}`);
  if (named) parts.push(named[1].replace(/\bas\b/g, ":"));
  let made = clause === "" ? imported : `void 0, {${parts.join(", ")}} = ${imported}`;
  if (whole) made = `${whole[1]} = ${imported}${first ? `, ${first[1]} = ${whole[1]}.default` : ""}`;
  edits.push([found[n].start, found[source].end, made]);
}

function edited(code, edits) {
  let made = "", at = 0;
  for (const [start, end, text] of [...edits].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    made += code.slice(at, start) + text;
    at = end;
  }
  return made + code.slice(at);
}

module.exports = { candidates };
