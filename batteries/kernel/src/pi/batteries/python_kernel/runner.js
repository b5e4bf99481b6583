"use strict";
// The process that runs JavaScript cells, with Node or Bun. It needs the standard library only.
//
// Descriptor 4 has the requests, 3 the frames; 1 and 2 are one pipe for the text of cells and of the
// programs that they start, and 0 is empty. Frames are a length (four bytes, big-endian) and JSON,
// as in runner.py. Before a frame is sent, a mark with its number is written into the text, so that
// pi can show the text that was written before the frame first.
//
// A worker reads the requests: it can stop a cell that keeps the main thread busy, and it ends the
// process when pi ends.

const crypto = require("node:crypto");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const { Socket } = require("node:net");
const path = require("node:path");
const { Writable } = require("node:stream");
const util = require("node:util");
const vm = require("node:vm");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");

const TEXT = 2, FRAMES = 3, REQUESTS = 4;
const ANSWER_MS = 100;
/** Milliseconds after which a main thread that does not answer is stopped. */
const MAX_INSPECTED = 100_000;
const STATUS_TYPE = "application/x-pi-status";
const IMAGES = [["image/png", "89504e47"], ["image/jpeg", "ffd8ff"]];

function writeAll(descriptor, data) {
  let left = Buffer.from(data);
  while (left.length > 0) {
    try {
      left = left.subarray(fs.writeSync(descriptor, left));
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(0); // pi is gone
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

// The worker -------------------------------------------------------------------------------------

function readRequests() {
  const answered = new Int32Array(workerData);
  let interrupts = 0, held = Buffer.alloc(0);
  const take = (request) => {
    parentPort.postMessage(request);
    if (!request.interrupt) return;
    const number = (interrupts += 1);
    setTimeout(() => {
      if (Atomics.load(answered, 0) < number) stopMain();
    }, ANSWER_MS);
  };
  const stream = requestStream();
  stream.on("data", (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
      const end = 4 + held.readUInt32BE(0);
      const request = JSON.parse(held.subarray(4, end).toString());
      held = held.subarray(end);
      take(request);
    }
  });
  stream.on("end", () => process.kill(process.pid, "SIGKILL"));
  stream.on("error", () => process.kill(process.pid, "SIGKILL"));
}

function requestStream() {
  // A file stream blocks a thread in read(), for which process.exit() of Node would wait.
  if (typeof Bun === "undefined") return new Socket({ fd: REQUESTS, readable: true, writable: false });
  return fs.createReadStream("", { fd: REQUESTS, autoClose: false });
}

function stopMain() {
  let session;
  try {
    const { Session } = require("node:inspector");
    session = new Session();
    session.connectToMainThread();
  } catch {
    return; // Bun cannot: pi kills the kernel of a busy cell
  }
  // A session per stop, disconnected at once: a process waits for its debuggers when it exits.
  session.post("Runtime.terminateExecution", () => session.disconnect());
}

// Output -----------------------------------------------------------------------------------------

const marker = `\u0000pi-mark-${crypto.randomBytes(12).toString("hex")}:`;
let marks = 0;

function send(frame) {
  marks += 1;
  writeAll(TEXT, marker + marks.toString(16).padStart(16, "0"));
  const data = Buffer.from(JSON.stringify({ ...frame, mark: marks }));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(data.length);
  writeAll(FRAMES, Buffer.concat([header, data]));
}

function textStream() {
  return new Writable({
    decodeStrings: true,
    write(chunk, encoding, done) {
      writeAll(TEXT, chunk);
      done();
    },
  });
}

function inspect(value) {
  const text = typeof value === "string" ? value : util.inspect(value, { depth: 4, maxArrayLength: 200 });
  return text.length > MAX_INSPECTED ? `${text.slice(0, MAX_INSPECTED)}… ${text.length} characters` : text;
}

function bundleOf(value) {
  const rich = value?.[Symbol.for("Jupyter.display")];
  if (typeof rich === "function") return rich.call(value);
  if (value instanceof Uint8Array) {
    const data = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const found = IMAGES.find(([, magic]) => data.subarray(0, magic.length / 2).toString("hex") === magic);
    if (found) return { [found[0]]: data.toString("base64") };
  }
  return { "text/plain": inspect(value) };
}

function show(data) {
  send({ type: "display", data });
}

// Helpers of the cells ---------------------------------------------------------------------------

function helpers() {
  const status = (op, details = {}) => show({ [STATUS_TYPE]: { op, ...details } });
  return {
    status,
    display(...values) {
      for (const value of values) show(bundleOf(value));
    },
    read(file) {
      const text = fs.readFileSync(file, "utf8");
      status("read", { path: String(file), chars: text.length });
      return text;
    },
    write(file, text) {
      fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
      fs.writeFileSync(file, text);
      status("write", { path: String(file), chars: text.length });
    },
    append(file, text) {
      fs.appendFileSync(file, text);
      status("append", { path: String(file), chars: text.length });
    },
    sh(command) {
      const done = require("node:child_process").spawnSync(command, { shell: true, encoding: "utf8", maxBuffer: 1 << 28 });
      const output = `${done.stdout ?? ""}${done.stderr ?? ""}`;
      status("sh", { command, code: done.status });
      if (done.status !== 0) throw new Error(`${command} failed with exit code ${done.status}:\n${output}`);
      return output;
    },
  };
}

// Cells ------------------------------------------------------------------------------------------

const { candidates } = isMainThread ? require("./cell_source.js") : {};
let count = 0;
let current = null;

function compiled(code, name) {
  const options = {
    filename: name,
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((module) => import(module)),
  };
  const made = candidates(code);
  for (const each of made.slice(0, -1)) {
    try {
      return { ...each, script: new vm.Script(each.source, options) };
    } catch {
      // Try the next one. The unchanged cell is last: its error has the right line.
    }
  }
  return { ...made.at(-1), script: new vm.Script(made.at(-1).source, options) };
}

async function run(request) {
  const mine = (current = { id: request.id });
  const name = request.name || `cell-${(count += 1)}.js`;
  let status = "ok";
  try {
    const cell = compiled(request.code, name);
    let value = cell.script.runInThisContext({ displayErrors: true, breakOnSigint: typeof Bun !== "undefined" });
    if (cell.isAsync) value = await value;
    if (current === mine && cell.shows && value !== undefined) {
      show(typeof value === "string" ? { "text/plain": util.inspect(value) } : bundleOf(value));
    }
  } catch (error) {
    status = error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED" ? "interrupted" : "error";
    if (current === mine) send({ type: "error", traceback: `${described(error)}\n` });
  }
  // An interrupted cell was reported already; its later output belongs to no cell.
  if (current === mine) end(status);
}

function end(status) {
  const { id } = current;
  current = null;
  send({ type: "done", id, status });
}

function interrupt() {
  if (current === null) return;
  send({ type: "error", traceback: "Interrupted\n" });
  end("interrupted");
}

function described(error) {
  if (!(error instanceof Error) || typeof error.stack !== "string") return `Uncaught ${inspect(error)}`;
  const lines = error.stack.split("\n");
  const first = lines.findIndex((line) => /^\s+at .*(node:|runner\.js|native:)/.test(line));
  return (first < 0 ? lines : lines.slice(0, first)).join("\n");
}

function main() {
  const answered = new SharedArrayBuffer(4);
  for (const name of ["stdout", "stderr"]) {
    Object.defineProperty(process, name, { value: textStream(), configurable: true, writable: true });
  }
  globalThis.console = new console.Console({ stdout: process.stdout, stderr: process.stderr });
  globalThis.require = createRequire(path.join(process.cwd(), "cell.js"));
  Object.assign(globalThis, helpers());
  process.on("SIGINT", () => {}); // it is meant for the programs that a cell runs
  process.on("uncaughtException", (error) => process.stderr.write(`${described(error)}\n`));
  process.on("unhandledRejection", (error) => process.stderr.write(`${described(error)}\n`));
  const worker = new Worker(__filename, { workerData: answered });
  worker.on("message", (request) => {
    if (request.interrupt) {
      Atomics.add(new Int32Array(answered), 0, 1);
      interrupt();
    } else run(request);
  });
  send({ type: "ready", version: process.version, marker });
}

if (isMainThread) main();
else readRequests();
