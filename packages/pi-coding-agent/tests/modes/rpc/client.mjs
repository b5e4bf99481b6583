// A client that behaves as compat/rpc.md says of RpcClient: `node <path> --mode rpc …`, a moment to
// start, ids req_1, req_2, … as the last key, agent_settled as the end of a prompt, SIGTERM at the
// end. Writes what it saw as one JSON object.
import { spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const [launcher, ...rest] = process.argv.slice(2);
const child = spawn("node", [launcher, "--mode", "rpc", ...rest], {
  stdio: ["pipe", "pipe", "pipe"],
});

const pending = new Map();
const events = [];
const listeners = new Set();
let errors = "";
let unread = "";
let ids = 0;

child.stderr.on("data", (data) => (errors += data));
child.stdout.on("data", (data) => {
  const lines = (unread + data).split("\n");
  unread = lines.pop();
  for (const record of lines.map((line) => JSON.parse(line))) {
    if (record.type === "response" && pending.has(record.id)) {
      pending.get(record.id).resolve(record);
      pending.delete(record.id);
    } else {
      events.push(record);
      listeners.forEach((listen) => listen(record));
    }
  }
});
const ended = new Promise((resolve) =>
  child.on("exit", (code, signal) => {
    for (const { reject } of pending.values()) {
      reject(new Error(`the agent ended with ${code ?? signal}: ${errors}`));
    }
    resolve(code ?? signal);
  }),
);

function request(command) {
  const id = `req_${++ids}`;
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject });
    child.stdin.write(`${JSON.stringify({ ...command, id })}\n`);
  });
}

function settled() {
  return new Promise((resolve) => {
    const listen = (record) => record.type === "agent_settled" && resolve();
    listeners.add(listen);
  });
}

await sleep(100);
if (child.exitCode !== null) {
  throw new Error(`the agent ended at once: ${errors}`);
}
const state = await request({ type: "get_state" });
const idle = settled();
const prompted = await request({ type: "prompt", message: "hello" });
await idle;
const text = await request({ type: "get_last_assistant_text" });
child.kill("SIGTERM");
const code = await ended;
process.stdout.write(JSON.stringify({ state, prompted, text, events, errors, code }));
