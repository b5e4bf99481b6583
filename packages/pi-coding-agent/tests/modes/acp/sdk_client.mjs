// A client on the official TypeScript SDK; prints in JSON what it saw.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const acp = await import(`${process.env.SDK}/acp.js`);
const [command, ...words] = JSON.parse(process.env.PI_COMMAND);
const server = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const seen = { permissions: [], terminal: [], kinds: [], stopped: [], text: "", thought: "" };
const files = new Map();
let plan, streaming, waiting, hangs = false, updates = 0;

const app = acp.client({ name: "test" })
  .onNotification("session/update", ({ params }) => {
    const update = params.update;
    updates += 1;
    seen.kinds.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") {
      if (seen.stopped.length === 0) seen.text += update.content.text;
      streaming?.();
    }
    if (update.sessionUpdate === "agent_thought_chunk" && seen.stopped.length === 0) {
      seen.thought += update.content.text;
    }
    if (update.sessionUpdate === "plan") plan ??= update.entries.map((entry) => entry.content);
  })
  .onRequest("session/request_permission", ({ params }) => {
    seen.permissions.push(params.toolCall.toolCallId);
    const option = params.options.find((each) => each.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest("fs/read_text_file", ({ params }) => (
    { content: files.get(params.path) ?? readFileSync(params.path, "utf8") }
  ))
  .onRequest("fs/write_text_file", ({ params }) => {
    files.set(params.path, params.content);
    seen.written = params.content;
    return {};
  })
  .onRequest("terminal/create", () => {
    seen.terminal.push("create");
    return { terminalId: "t1" };
  })
  .onRequest("terminal/wait_for_exit", async () => {
    waiting?.();
    if (hangs) await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    return { exitCode: 0 };
  })
  .onRequest("terminal/output", () => ({ output: "out\n", truncated: false }))
  .onRequest("terminal/kill", () => {
    seen.terminal.push("kill");
    return {};
  })
  .onRequest("terminal/release", () => {
    seen.terminal.push("release");
    return {};
  });

const stream = acp.ndJsonStream(Writable.toWeb(server.stdin), Readable.toWeb(server.stdout));
await app.connectWith(stream, async (agent) => {
  const cwd = process.cwd();
  const prompt = async (sessionId, text) => {
    const answer = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    seen.stopped.push(answer.stopReason);
  };
  await agent.request("initialize", {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const open = { cwd, mcpServers: [] };
  const { sessionId } = await agent.request("session/new", open);
  await prompt(sessionId, "Hi");
  await prompt(sessionId, "Work");
  seen.plan = plan;
  const second = (await agent.request("session/new", open)).sessionId;
  const begun = new Promise((resolve) => { streaming = resolve; });
  const hanging = prompt(second, "Hang");
  await begun;
  await agent.notify("session/cancel", { sessionId: second });
  await hanging;
  hangs = true;
  const started = new Promise((resolve) => { waiting = resolve; });
  const running = prompt(second, "Run");
  await started;
  await agent.notify("session/cancel", { sessionId: second });
  await running;
  await agent.request("session/set_mode", { sessionId, modeId: "read-only" });
  await agent.request("session/set_config_option", { sessionId, configId: "thought_level", value: "low" });
  seen.listed = (await agent.request("session/list", { cwd })).sessions.length;
  await agent.request("session/close", { sessionId });
  const before = updates;
  await agent.request("session/load", { sessionId, ...open });
  seen.replayed = updates - before;
  await agent.request("session/close", { sessionId });
  await agent.request("session/resume", { sessionId, ...open });
  await agent.request("session/delete", { sessionId: second });
  try {
    await agent.request("nothing/here", {});
  } catch (error) {
    seen.unknown = error.code;
  }
});
server.stdin.end();
await new Promise((resolve) => server.on("exit", resolve));
console.log(JSON.stringify(seen));
process.exit(0);
