// The guest's side of a room: connecting, joining, following, resynchronising, writing.

import { BadFrame, NO_EPOCH, Sealer, VERSION, encode64 } from "./sealing.js";

const HELLO_MS = 1000;
const ANSWER_MS = 10000; // doubles: a busy host begins a snapshot again with each hello
const LONGEST_ANSWER_MS = 160000;
const STEADY_MS = 60000;
const LOST_ROOM_MS = 300000;
const MAX_HELD = 20000;
const MAX_PROMPT = 720000;
const ENDINGS = {
  1009: "A message was too large for the relay.",
  4001: "The host has stopped sharing this session.",
  4004: "The relay does not know this session. It may have ended.",
  4009: "The room has another host.",
  4029: "The relay has no place left.",
};
const text = new TextDecoder("utf-8", { fatal: true });
const bytes = new TextEncoder();

export class CannotWrite extends Error {}

/**
 * Calls `handlers.snapshot({session, from, about, lines})`, `handlers.frame(frame)`,
 * `handlers.status(kind, text)` with kind connecting | waiting | loading | live | ended,
 * `handlers.joining()` before each hello, and `handlers.progress(done, all)`.
 */
export class Room {
  constructor(keys, name, url, handlers) {
    this.keys = keys;
    this.name = name;
    this.url = url;
    this.handlers = handlers;
    this.canWrite = keys.token.length > 0;
    this.have = null;
    this.peer = 0;
    this.state = "away";
    this.rejected = 0;
    this.unaccepted = new Map(); // prompts that may have to be sent again
    this.#reset();
  }

  #socket = null;
  #sealer = null;
  #incoming = Promise.resolve();
  #outgoing = Promise.resolve();
  #attempt = 0;
  #opened = 0;
  #lost = 0;
  #ever = false;
  #ended = false;
  #hostPresent = false;
  #helloAt = -HELLO_MS;
  #wantsHello = false;
  #receivedAt = 0;
  #patience = ANSWER_MS;
  #timer = 0;
  #retry = 0;

  async start() {
    this.#sealer = await Sealer.create(this.keys);
    this.#timer = setInterval(() => this.#tick(), 500);
    this.#connect();
    // A phone that wakes up, or a laptop with another network, does not wait for the back-off.
    this.onOnline = () => this.#retry && this.#connect();
    addEventListener("online", this.onOnline);
  }

  stop() {
    if (this.state === "live") this.#send({ t: "bye" }, false);
    this.#ended = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    removeEventListener("online", this.onOnline);
    const socket = this.#socket;
    this.#outgoing.then(() => socket?.close());
  }

  // The connection --------------------------------------------------------------------------------

  #connect() {
    clearTimeout(this.#retry);
    this.#retry = 0;
    if (this.#ended) return;
    this.handlers.status("connecting", this.#ever ? "Reconnecting…" : "Connecting…");
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let isIn = false;
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      if (!isIn) {
        // A refusal is a close code: only the first message means that we are in.
        isIn = this.#ever = true;
        this.#opened = Date.now();
        this.#patience = ANSWER_MS;
        this.#reset();
      }
      if (typeof data === "string") this.#enqueue(() => this.#relayText(data));
      else this.#enqueue(() => this.#receive(new Uint8Array(data)));
    };
    socket.onclose = ({ code, reason }) => {
      if (socket === this.#socket) this.#disconnected(code, reason, isIn);
    };
  }

  #disconnected(code, reason, wasIn) {
    this.#socket = null;
    this.#hostPresent = false;
    this.#reset();
    const now = Date.now();
    if (wasIn) {
      this.#lost = now;
      if (now - this.#opened >= STEADY_MS) this.#attempt = 0;
    }
    const searching = code === 4004 && this.#ever && now - this.#lost < LOST_ROOM_MS;
    if (code in ENDINGS && !searching) {
      this.#end(ENDINGS[code]);
      return;
    }
    if (this.#ended) return;
    const seconds = wasIn && this.#attempt === 0 ? 0.25 : Math.min(30, 2 ** (this.#attempt - 1));
    this.#attempt += 1;
    this.handlers.status("connecting", "The relay cannot be reached. Reconnecting…");
    this.#retry = setTimeout(() => this.#connect(), seconds * 1000 * (0.75 + Math.random() / 2));
  }

  #end(reason) {
    this.#ended = true;
    clearInterval(this.#timer);
    this.handlers.status("ended", reason);
    this.#socket?.close();
  }

  /** WebCrypto is asynchronous; frames must be applied in the order of their arrival. */
  #enqueue(act) {
    this.#incoming = this.#incoming.then(act).catch((error) => {
      this.rejected += 1;
      if (!(error instanceof BadFrame)) {
        console.error(error);
        this.#rejoin();
      }
    });
  }

  #relayText(data) {
    let kind;
    try {
      kind = JSON.parse(data).type;
    } catch {
      return;
    }
    if (kind === "host-joined") {
      this.#hostPresent = true;
      this.#rejoin();
    } else if (kind === "host-left") {
      this.#hostPresent = false;
      this.#reset();
      this.handlers.status("waiting", "The host is away. Waiting…");
    } else if (kind === "gap") this.#rejoin();
  }

  #rejoin() {
    this.#reset();
    this.#wantsHello = true;
    this.#tick();
  }

  #tick() {
    if (!this.#hostPresent || this.#ended) return;
    const now = performance.now();
    const isStuck = ["joining", "loading"].includes(this.state) && now - this.#receivedAt > this.#patience;
    if (isStuck && !this.#wantsHello) {
      this.#patience = Math.min(LONGEST_ANSWER_MS, this.#patience * 2);
      this.#reset();
      this.#wantsHello = true;
    }
    if (this.#wantsHello && now - this.#helloAt >= HELLO_MS) this.#hello();
  }

  #reset() {
    this.state = "away";
    this.nonce = "";
    this.epoch = NO_EPOCH;
    this.peer = 0;
    this.assembler = null;
    this.held = [];
    this.early = [];
    this.generation = (this.generation ?? 0) + 1;
  }

  #hello() {
    this.#wantsHello = false;
    this.#helloAt = this.#receivedAt = performance.now();
    this.nonce = encode64(crypto.getRandomValues(new Uint8Array(16)));
    this.state = "joining";
    this.handlers.status("loading", "Joining…");
    this.handlers.joining();
    const frame = { t: "hello", v: VERSION, name: this.name, nonce: this.nonce };
    if (this.have) frame.have = this.have;
    this.#transmit(frame, { peer: 0, epoch: NO_EPOCH, counter: 0, prove: false });
  }

  // Frames of the host ----------------------------------------------------------------------------

  async #receive(data) {
    const generation = this.generation;
    const opened = await this.#sealer.open(data);
    if (generation !== this.generation || this.state === "away") return;
    if (this.state === "joining") return this.#beforeWelcome(opened);
    if (encode64(opened.epoch) !== encode64(this.epoch)) return this.#rejoin();
    return this.#follow(opened);
  }

  #beforeWelcome(opened) {
    if (opened.peer !== 0) {
      this.#welcome(opened);
      const early = this.early;
      this.early = [];
      for (const each of early) {
        const isSame = encode64(each.epoch) === encode64(this.epoch);
        if (isSame && each.counter > this.broadcasts) this.#follow(each);
      }
    } else if (this.early.length < MAX_HELD) this.early.push(opened);
  }

  #welcome(opened) {
    const [frame] = split(opened.plaintext);
    if (frame.t === "error" && frame.re === this.nonce) {
      this.#end(String(frame.message));
      return;
    }
    if (frame.t !== "welcome" || frame.nonce !== this.nonce || frame.v !== VERSION) {
      throw new BadFrame("a welcome that was not asked for");
    }
    if (frame.peer !== opened.peer || frame.epoch !== encode64(opened.epoch)) {
      throw new BadFrame("the welcome contradicts itself");
    }
    this.epoch = opened.epoch;
    this.peer = opened.peer;
    this.nonce = "";
    this.own = opened.counter;
    this.broadcasts = frame.broadcast;
    this.counter = frame.counter;
    this.session = String(frame.session);
    this.from = frame.from;
    this.#receivedAt = performance.now();
    this.#patience = ANSWER_MS;
    this.state = "loading";
    this.assembler = new Assembler("snapshot", frame.chunks, frame.bytes);
    this.#send({ t: "hello", v: VERSION, name: this.name }, this.canWrite);
    this.#fetch();
  }

  #follow(opened) {
    if (opened.peer !== 0 && opened.peer !== this.peer) throw new BadFrame("for another guest");
    const field = opened.peer === 0 ? "broadcasts" : "own";
    if (opened.counter <= this[field]) throw new BadFrame("the counter was used before");
    const isMissing = opened.counter !== this[field] + 1;
    this[field] = opened.counter;
    if (isMissing) return this.#rejoin();
    this.#receivedAt = performance.now();
    const [frame, rest] = split(opened.plaintext);
    return this.#apply(frame, rest, opened.peer === 0);
  }

  async #apply(frame, rest, isBroadcast) {
    if (frame.t === "snapshot-chunk") return this.#addChunk(frame, rest);
    if (frame.t === "error" && frame.code === "gone" && !frame.re) return this.#rejoin();
    if (isBroadcast && this.assembler && !["bye", "resync"].includes(frame.t)) {
      this.held.push(frame);
      if (this.held.length > MAX_HELD) this.#rejoin();
      return;
    }
    if (frame.t === "resync") return this.#rejoin();
    this.#passOn(frame);
  }

  #passOn(frame) {
    if (frame.t === "deferred") {
      this.assembler = new Assembler(frame.of, frame.count, frame.bytes);
      this.#fetch();
      return;
    }
    if (frame.t === "accepted" || frame.t === "error") this.unaccepted.delete(frame.re);
    if (frame.t === "bye") this.#end(BYES[frame.reason] ?? BYES.stopped);
    this.handlers.frame(frame);
  }

  async #addChunk(frame, data) {
    const assembler = this.assembler;
    if (!assembler) return;
    if (!assembler.add(frame, data)) {
      this.handlers.progress(assembler.next, assembler.count);
      this.#fetch();
      return;
    }
    this.assembler = null;
    const body = assembler.body();
    if (assembler.of === "snapshot") {
      const [first, ...lines] = text.decode(body).split("\n");
      const about = JSON.parse(first), generation = this.generation;
      await this.handlers.snapshot({ session: this.session, from: this.from, about, lines });
      if (generation !== this.generation) return;
      this.state = "live";
      this.handlers.status("live", "Connected");
      for (const frame of this.unaccepted.values()) this.#send(frame, true);
    } else this.#passOn(split(body)[0]);
    while (this.held.length && !this.assembler) this.#passOn(this.held.shift());
  }

  #fetch() {
    this.#send({ t: "fetch-chunk", of: this.assembler.of, index: this.assembler.next }, false);
  }

  // Writing ---------------------------------------------------------------------------------------

  /** Sends a frame that needs the write right; raises CannotWrite. Returns its id. */
  write(frame) {
    if (!this.canWrite) throw new CannotWrite("This link is read-only.");
    if (this.state !== "live") throw new CannotWrite("The host is not connected. Try again soon.");
    const whole = { id: encode64(crypto.getRandomValues(new Uint8Array(12))), ...frame };
    if (bytes.encode(JSON.stringify(whole)).length > MAX_PROMPT) {
      throw new CannotWrite("This is too large to send. Leave out images.");
    }
    if (frame.t === "prompt") this.unaccepted.set(whole.id, whole);
    this.#send(whole, true);
    return whole.id;
  }

  #send(frame, prove) {
    this.counter += 1;
    const { peer, epoch, counter } = this;
    this.#transmit(frame, { peer, epoch, counter, prove });
  }

  #transmit(frame, how) {
    const socket = this.#socket;
    this.#outgoing = this.#outgoing.then(async () => {
      const sealed = await this.#sealer.seal(bytes.encode(JSON.stringify(frame)), how);
      if (socket?.readyState === WebSocket.OPEN) socket.send(sealed);
    });
  }
}

const BYES = {
  stopped: "The host has stopped sharing this session.",
  session: "The host has opened another session, which is not shared.",
  exit: "The host has quit pi.",
  overload: "Sharing has ended: the host's connection is too slow.",
};

class Assembler {
  constructor(of, count, size) {
    this.of = of;
    this.count = count;
    this.size = size;
    this.next = 0;
    this.parts = [];
  }

  /** Adds a chunk; returns whether it was the last one. */
  add(frame, data) {
    if (frame.of === this.of && frame.index === this.next) {
      this.parts.push(data);
      this.next += 1;
    }
    return this.next >= this.count;
  }

  body() {
    const all = new Uint8Array(this.size);
    let offset = 0;
    for (const part of this.parts) {
      all.set(part, offset);
      offset += part.length;
    }
    if (offset !== this.size) throw new Error("The snapshot is incomplete.");
    return all;
  }
}

/** The JSON object of a plaintext, and the raw bytes after its line. */
function split(plaintext) {
  const end = plaintext.indexOf(10);
  const head = end < 0 ? plaintext : plaintext.subarray(0, end);
  const frame = JSON.parse(text.decode(head));
  if (typeof frame?.t !== "string") throw new BadFrame("no frame");
  return [frame, end < 0 ? new Uint8Array(0) : plaintext.subarray(end + 1)];
}
