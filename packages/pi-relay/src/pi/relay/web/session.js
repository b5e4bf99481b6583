// What is known about the session: its entries, the branch that is shown, and the running turn.

const SLICE = 400;

/** Lets the browser draw and take input before more work. */
export const pause = () =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(null);
  });

export class Session {
  constructor() {
    this.id = "";
    this.clear();
  }

  clear() {
    this.header = {};
    this.entries = [];
    this.byId = new Map();
    this.results = new Map(); // tool call id → message of the result
    this.leafId = null;
    this.branch = []; // entries from the root to the leaf
    this.partial = null; // the answer that is being streamed
    this.running = new Map(); // tool call id → {name, args, output}
    this.state = null;
    this.agents = [];
    this.isActive = false;
    this.name = "";
  }

  /** What `hello` says about the entries that are here already. */
  get have() {
    if (!this.entries.length) return null;
    const last = this.entries.at(-1);
    return { session: this.id, count: this.entries.length, last: String(last.id) };
  }

  async load({ session, from, about, lines }) {
    if (session !== this.id || from > this.entries.length) this.clear();
    else this.#cut(from);
    this.id = session;
    this.header = object(about.header);
    for (let at = 0; at < lines.length; at += SLICE) {
      for (const line of lines.slice(at, at + SLICE)) if (line) this.#store(object(JSON.parse(line)));
      await pause();
    }
    this.leafId = about.leafId ?? null;
    this.#walk();
    this.partial = object(about.partial).role === "assistant" ? about.partial : null;
    this.running.clear();
    for (const event of list(about.tools)) this.toolEvent(object(event));
    this.setState(about.state);
    this.agents = list(about.agents).map(object);
    // An answer may be on its way although the state was taken a moment before.
    this.isActive ||= Boolean(this.partial) || this.running.size > 0;
  }

  #cut(count) {
    for (const entry of this.entries.splice(count)) this.byId.delete(entry.id);
  }

  #store(entry) {
    if (this.byId.has(entry.id)) return false;
    this.entries.push(entry);
    this.byId.set(entry.id, entry);
    const message = messageOf(entry);
    if (message?.role === "toolResult") {
      this.results.set(message.toolCallId, message);
      this.running.delete(message.toolCallId);
    }
    if (entry.type === "session_info" && typeof entry.name === "string") this.name = entry.name;
    return true;
  }

  /** Adds an entry; returns "old", "next" if it continues the branch, or "moved". */
  add(entry) {
    if (!this.#store(entry)) return "old";
    const isNext = (entry.parentId ?? null) === (this.leafId ?? null);
    this.leafId = entry.id;
    if (isNext) this.branch.push(entry);
    else this.#walk();
    return isNext ? "next" : "moved";
  }

  /** Moves to another leaf; returns whether another branch is shown. */
  move(leafId) {
    if ((leafId ?? null) === (this.leafId ?? null)) return false;
    this.leafId = leafId ?? null;
    this.#walk();
    return true;
  }

  #walk() {
    const found = [], seen = new Set();
    for (let id = this.leafId; id && this.byId.has(id) && !seen.has(id); ) {
      seen.add(id);
      const entry = this.byId.get(id);
      found.push(entry);
      id = entry.parentId;
    }
    this.branch = found.reverse();
  }

  setState(state) {
    if (!state || typeof state !== "object") return;
    this.state = state;
    this.isActive = Boolean(state.state?.isStreaming);
    if (typeof state.state?.sessionName === "string") this.name = state.state.sessionName;
  }

  toolEvent(event) {
    const id = String(event.toolCallId);
    if (event.type === "tool_execution_start") {
      this.running.set(id, { name: event.toolName, args: event.args, output: null });
    } else if (event.type === "tool_execution_update" && this.running.has(id)) {
      this.running.get(id).output = object(event.partialResult ?? event.result);
    } else if (event.type === "tool_execution_end") this.running.delete(id);
    return id;
  }

  /** Grows the streamed answer by one update. */
  grow(inner) {
    if (!this.partial) return;
    const blocks = (this.partial.content = list(this.partial.content));
    const at = inner.contentIndex, [kind, step] = String(inner.type).split("_");
    if (!Number.isInteger(at) || at < 0 || at > blocks.length) return;
    if (at === blocks.length) {
      blocks.push(
        kind === "toolcall"
          ? { type: "toolCall", id: inner.id ?? "", name: inner.toolName ?? "", arguments: {} }
          : { type: kind, [kind]: "" },
      );
    }
    const block = blocks[at];
    if (kind === "toolcall") {
      if (step === "end" && inner.toolCall) blocks[at] = { type: "toolCall", ...inner.toolCall };
    } else if (step === "delta") block[kind] = String(block[kind] ?? "") + String(inner.delta ?? "");
    else if (step === "end" && typeof inner.content === "string") block[kind] = inner.content;
  }
}

export function messageOf(entry) {
  const message = entry.type === "message" ? entry.message : null;
  return message && typeof message === "object" ? message : null;
}

/** Content of a message as blocks; a plain text is one block. */
export function blocksOf(content) {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  return list(content).map(object);
}

export function textOf(content) {
  return blocksOf(content).map((each) => (each.type === "text" ? String(each.text ?? "") : "")).join("");
}

export const object = (value) =>
  value && typeof value === "object" && !Array.isArray(value) ? value : {};
export const list = (value) => (Array.isArray(value) ? value : []);
