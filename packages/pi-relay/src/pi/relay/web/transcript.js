// Draws the branch of a session: the end first, older parts when the reader goes there.

import { h, markdown, stableEnd } from "./markdown.js";
import { blocksOf, messageOf, object } from "./session.js";

const PAGE = 60;
const MOST_ROWS = 400;
const LONG_OUTPUT = 6000;
const LONG_TEXT = 100000;
const LONG_TAIL = 4000;
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SUBJECTS = ["command", "path", "file_path", "pattern", "query", "url", "name", "task"];

export class Transcript {
  /** `scroller` is the element that scrolls, `root` the one that holds rows. */
  constructor(root, scroller, session) {
    this.root = root;
    this.scroller = scroller;
    this.session = session;
    this.first = 0; // index in the branch of the first row that is drawn
    this.open = new Map(); // what the reader has opened or closed, by key
    this.cards = new Map(); // tool call id → element: there is one card for each call
    this.live = null;
    this.follows = true;
    this.frame = 0;
    this.more = h("button", { class: "more", type: "button", onclick: () => this.older() }, "Show earlier messages");
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // What unfolds or loads above the end must not push the end out of sight.
    const resized = new ResizeObserver(() => this.follows && this.toEnd());
    resized.observe(root);
    resized.observe(scroller);
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follows = scrollHeight - scrollTop - clientHeight < 60;
    this.onFollow?.(this.follows);
    if (scrollTop < 400 && this.first > 0 && this.more.isConnected) this.older();
  }

  toEnd() {
    this.follows = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.onFollow?.(true);
  }

  rebuild() {
    const { branch } = this.session;
    this.cards.clear();
    this.live = null;
    this.root.replaceChildren();
    this.first = branch.length;
    this.#prepend();
    this.partial();
    this.toEnd();
  }

  older() {
    const { scroller } = this, before = scroller.scrollHeight - scroller.scrollTop;
    this.#prepend();
    scroller.scrollTop = scroller.scrollHeight - before; // the text stays where it is read
  }

  #prepend() {
    const rows = [];
    while (this.first > 0 && rows.length < PAGE) {
      this.first -= 1;
      const row = this.#row(this.session.branch[this.first]);
      if (row) rows.push(row);
    }
    this.more.remove();
    this.root.prepend(...rows.reverse());
    if (this.first > 0) this.root.prepend(this.more);
  }

  /** Draws the entry that was added last. */
  append(entry) {
    const message = messageOf(entry);
    if (message?.role === "toolResult" && this.cards.has(message.toolCallId)) {
      this.card(message.toolCallId);
      return;
    }
    if (message?.role === "assistant") this.#dropLive();
    const row = this.#row(entry);
    if (!row) return;
    if (this.live) this.root.insertBefore(row, this.live.element);
    else this.root.append(row);
    if (this.follows && this.root.childElementCount > MOST_ROWS) this.#shorten();
    if (this.follows) this.toEnd();
  }

  /** A page that is open for days keeps the end only. */
  #shorten() {
    const { branch } = this.session;
    this.cards.clear();
    this.root.replaceChildren();
    this.first = branch.length;
    this.#dropLive();
    this.#prepend();
    this.partial();
  }

  // The answer that is being streamed -------------------------------------------------------------

  /** Draws the streamed answer soon: many updates are one drawing. */
  partial() {
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.#drawLive();
      });
    }
  }

  #drawLive() {
    const message = this.session.partial;
    if (!message) {
      this.#dropLive();
      return;
    }
    if (!this.live) {
      const body = h("div", { class: "body" });
      const element = h("article", { class: "row assistant live", "aria-label": "pi, answering" }, body);
      this.live = { element, body, parts: [] };
      this.root.append(element);
    }
    blocksOf(message.content).forEach((block, at) => {
      let part = this.live.parts[at];
      if (!part || part.type !== block.type) {
        part = this.live.parts[at] = livePart(block, this, at);
        const old = this.live.body.children[at];
        if (old) old.replaceWith(part.element);
        else this.live.body.append(part.element);
      }
      part.update(block);
    });
    if (this.follows) this.toEnd();
  }

  #dropLive() {
    this.live?.element.remove();
    this.live = null;
  }

  // Rows ------------------------------------------------------------------------------------------

  #row(entry) {
    const row = this.#drawn(entry);
    if (row) row.dataset.id = String(entry.id);
    return row;
  }

  #drawn(entry) {
    const message = messageOf(entry);
    if (message) return this.#message(entry, message);
    switch (entry.type) {
      case "compaction":
        return this.#fold(entry, "Earlier messages were summarised", entry.summary);
      case "branch_summary":
        return this.#fold(entry, "Summary of another branch", entry.summary);
      case "model_change":
        return note(`Model: ${entry.modelId}`);
      case "thinking_level_change":
        return note(`Thinking: ${entry.thinkingLevel}`);
      case "session_info":
        return entry.name ? note(`Name: ${entry.name}`) : null;
      case "custom_message":
        if (entry.display === false) return null;
        return h("article", { class: "row other", "aria-label": String(entry.customType) }, h("p", { class: "who" }, String(entry.customType)), this.#content(entry.content));
      case "custom":
        if (entry.customType !== "collab-omitted") return null;
        return note(`An entry was left out (${object(entry.data).reason}).`);
      default:
        return null;
    }
  }

  #message(entry, message) {
    switch (message.role) {
      case "user": {
        const author = object(message.meta).author;
        const label = typeof author === "string" ? author : "Prompt";
        return h(
          "article",
          { class: "row user", "aria-label": `${label}, prompt` },
          typeof author === "string" ? h("p", { class: "who badge" }, author) : null,
          this.#content(message.content, true),
        );
      }
      case "assistant":
        return this.#assistant(message, String(entry.id));
      case "toolResult":
        return null; // shown in the card of its call
      case "bashExecution":
        return h("article", { class: "row tool-row", "aria-label": "command of the user" }, this.#bash(message, entry.id));
      case "custom":
        return message.display === false ? null : h("article", { class: "row other" }, this.#content(message.content));
      case "branchSummary":
      case "compactionSummary":
        return this.#fold(entry, "Summary", message.summary);
      default:
        return null;
    }
  }

  #assistant(message, key) {
    const parts = blocksOf(message.content).map((block, at) => this.#block(block, `${key}.${at}`));
    const failed = ["error", "aborted"].includes(message.stopReason);
    if (failed) {
      const why = message.stopReason === "aborted" ? "Interrupted" : `Error: ${message.errorMessage ?? "the model failed"}`;
      parts.push(h("p", { class: "failed" }, why));
    }
    if (!parts.some(Boolean)) return null;
    return h("article", { class: "row assistant", "aria-label": "pi" }, h("div", { class: "body" }, ...parts));
  }

  #block(block, key) {
    if (block.type === "text") return textBlock(String(block.text ?? ""));
    if (block.type === "thinking") return this.thinking(String(block.thinking ?? ""), key);
    if (block.type === "toolCall") return this.call(block);
    if (block.type === "image") return picture(block);
    return null;
  }

  #content(content, isPlain = false) {
    return h("div", { class: "body" }, ...blocksOf(content).map((block) =>
      block.type === "image" ? picture(block)
        : isPlain ? h("div", { class: "plain" }, String(block.text ?? ""))
        : textBlock(String(block.text ?? ""))));
  }

  /** A part that folds; what the reader chose is kept when it is drawn again. */
  details(key, summary, body, isOpen = false, attributes = {}) {
    const element = h("details", { ...attributes, open: this.open.get(key) ?? isOpen }, h("summary", {}, ...summary));
    let isDrawn = false;
    const draw = () => {
      if (!isDrawn && element.open) {
        isDrawn = true;
        element.append(body());
      }
    };
    draw();
    element.addEventListener("toggle", () => {
      if (element.open !== isOpen || this.open.has(key)) this.open.set(key, element.open);
      draw();
    });
    return element;
  }

  thinking(text, key) {
    if (!text.trim()) return null;
    return this.details(key, ["Thinking"], () => textBlock(text), false, { class: "thinking" });
  }

  #fold(entry, title, text) {
    const body = () => textBlock(String(text ?? ""));
    return h("article", { class: "row other", "aria-label": title }, this.details(String(entry.id), [title], body));
  }

  // Tools -----------------------------------------------------------------------------------------

  /** The card of a tool call; the same element however often it is asked for. */
  call(block) {
    const id = String(block.id);
    const card = this.cards.get(id) ?? h("div", { class: "card" });
    this.cards.set(id, card);
    card.call = block;
    this.card(id);
    return card;
  }

  /** Draws a card again, after its tool has done something. */
  card(id) {
    const card = this.cards.get(id);
    if (!card) return;
    const result = this.session.results.get(id), running = this.session.running.get(id);
    const block = card.call, args = object(block.arguments ?? running?.args);
    const status = result ? (result.isError ? "failed" : "done") : running ? "running" : this.session.isActive ? "waiting" : "no result";
    const subject = subjectOf(args);
    const shown = result ?? running?.output;
    const mark = h("span", { class: "status", role: "img", "aria-label": status, title: status }, MARKS[status]);
    const summary = [mark, h("b", {}, String(block.name || "tool")), h("span", { class: "subject" }, subject)];
    const hasDiff = typeof object(result?.details).diff === "string";
    const body = () => h("div", { class: "tool" }, ...toolBody(args, shown, subject));
    card.className = `card ${status.replace(" ", "-")}`;
    card.replaceChildren(this.details(`call ${id}`, summary, body, hasDiff || Boolean(running)));
  }

  #bash(message, key) {
    const failed = message.exitCode ? "failed" : "done";
    const mark = h("span", { class: "status", role: "img", "aria-label": failed }, MARKS[failed]);
    const body = () => h("div", { class: "tool" }, output(String(message.output ?? "")));
    const details = this.details(String(key), [mark, h("b", {}, "!"), h("span", { class: "subject" }, String(message.command))], body, true);
    return h("div", { class: `card ${failed}` }, details);
  }
}

const MARKS = { done: "✓", failed: "✗", running: "●", waiting: "○", "no result": "○" };

function subjectOf(args) {
  for (const name of SUBJECTS) if (typeof args[name] === "string") return args[name].split("\n")[0].slice(0, 300);
  const first = Object.values(args).find((each) => typeof each === "string");
  return first ? first.split("\n")[0].slice(0, 300) : "";
}

function toolBody(args, shown, subject) {
  const parts = [], details = object(shown?.details);
  const rest = Object.entries(args).filter(([, value]) => value !== subject);
  const isDiff = typeof details.diff === "string";
  if (rest.length && !isDiff) {
    const rows = rest.map(([name, value]) => [h("dt", {}, name), h("dd", {}, output(typeof value === "string" ? value : JSON.stringify(value, null, 1)))]);
    parts.push(h("dl", {}, ...rows.flat()));
  }
  if (isDiff) parts.push(diff(details.diff));
  for (const block of blocksOf(shown?.content)) {
    if (block.type === "image") parts.push(picture(block));
    else if (block.text && !(isDiff && !shown.isError)) parts.push(output(String(block.text)));
  }
  return parts.filter(Boolean);
}

/** A text as it is; the middle of a long one is left out until it is asked for. */
function output(text) {
  const pre = h("pre", { class: "output", tabindex: "0" });
  if (text.length <= LONG_OUTPUT) {
    pre.append(text);
    return pre;
  }
  const half = LONG_OUTPUT / 2;
  const all = h("button", { type: "button", class: "all" }, `Show all ${text.length.toLocaleString("en")} characters`);
  all.addEventListener("click", () => pre.replaceChildren(text.slice(0, 2000000)));
  pre.append(text.slice(0, half), "\n", all, "\n", text.slice(-half));
  return pre;
}

export function diff(text) {
  const lines = text.split("\n").slice(0, 2000).map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    return h("span", { class: kind }, `${line}\n`);
  });
  return h("pre", { class: "output diff", tabindex: "0", "aria-label": "difference" }, ...lines);
}

function picture(block) {
  const { data, mimeType } = block;
  if (typeof data !== "string" || !PICTURES.has(mimeType) || !/^[A-Za-z0-9+/=\s]*$/.test(data)) {
    return h("p", { class: "note" }, "(a picture that cannot be shown)");
  }
  return h("img", { src: `data:${mimeType};base64,${data}`, alt: "picture of the session", loading: "lazy" });
}

function note(text) {
  return h("p", { class: "row note" }, text);
}

function textBlock(text) {
  if (text.length <= LONG_TEXT) return h("div", { class: "words" }, ...markdown(text));
  return h("div", { class: "words" }, output(text));
}

/** A block of the streamed answer. Only what is after the last finished part is drawn again. */
function livePart(block, transcript, at) {
  if (block.type === "toolCall") {
    const element = h("div");
    let drawn = "";
    return {
      type: block.type,
      element,
      update(now) {
        const shown = JSON.stringify([now.id, now.name, now.arguments]);
        if (shown !== drawn) element.replaceChildren(transcript.call(now));
        drawn = shown;
      },
    };
  }
  const done = h("div", { class: "words" }), tail = h("div", { class: "words tail" });
  const words = h("div", {}, done, tail);
  const isThinking = block.type === "thinking";
  const element = isThinking
    ? h("details", { class: "thinking", open: true }, h("summary", {}, "Thinking…"), words)
    : words;
  let stable = 0, node = null, drawn = 0;
  return {
    type: block.type,
    element,
    update(now) {
      const text = String(now[block.type] ?? "");
      if (text.length < drawn) {
        done.replaceChildren();
        stable = 0;
      }
      if (text.length === drawn) return;
      const end = stableEnd(text, stable);
      if (end > stable) {
        done.append(...markdown(text.slice(stable, end)));
        stable = end;
        node = null;
      }
      // Text that is one endless paragraph is appended as it is: to draw it again for each
      // update would take longer than the next update.
      if (text.length - stable > LONG_TAIL) {
        const more = text.slice(drawn);
        if (!node) {
          node = document.createTextNode(text.slice(stable));
          tail.replaceChildren(h("p", {}, node));
        } else if (node.length > LONG_TAIL && /^\s/.test(more)) {
          // A new line of its own until the answer ends: laying out 40 KB takes too long.
          node = document.createTextNode(more);
          tail.append(h("p", {}, node));
        } else node.appendData(more);
      } else {
        node = null;
        tail.replaceChildren(...markdown(text.slice(stable)));
      }
      drawn = text.length;
    },
  };
}
