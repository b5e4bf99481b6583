// Calls every method of the original's RpcClient and prints one JSON line for each call.
//
//     node rpc_calls.mjs MODULE_OF_THE_CLIENT PROGRAM CWD SESSION_OF_BEFORE
//
// PROGRAM is a script for node: the original, or run_program.cjs, which runs ours.


const [module, cliPath, cwd, earlier] = process.argv.slice(2);
const { RpcClient } = await import(module);
const client = new RpcClient({ cliPath, cwd, provider: "loop", model: "one" });
const events = [];
client.onEvent((event) => events.push(event));

const report = (call, answer) => console.log(JSON.stringify({ call, ...answer }));
const call = async (name, ...args) => {
  try {
    const result = await client[name](...args);
    report(name, { result: result === undefined ? "nothing" : result });
    return result;
  } catch (error) {
    report(name, { error: error.message });
    return undefined;
  }
};
const seen = (type) => events.some((event) => event.type === type);
const until = async (type) => {
  const end = Date.now() + 30000;
  while (!seen(type) && Date.now() < end) await new Promise((done) => setTimeout(done, 20));
  if (!seen(type)) report("waiting", { error: type });
};
const settled = async (name, start) => {
  events.length = 0;
  await start();
  await until("agent_settled");
  report(`events of ${name}`, { result: events.splice(0) });
};

process.on("unhandledRejection", (error) => report("rejected", { error: error.message }));
await client.start();
await call("getState");
await call("getAvailableModels");
await call("getAvailableThinkingLevels");
await call("setModel", "loop", "two");
await call("setModel", "loop", "gone");
await call("setThinkingLevel", "high");
await call("cycleThinkingLevel");
await call("cycleModel");
await call("setSteeringMode", "one-at-a-time");
await call("setFollowUpMode", "all");
await call("setAutoCompaction", false);
await call("setAutoRetry", true);
await call("abortRetry");
await call("abortBash");
await call("getCommands");
await call("getLastAssistantText");
await call("getForkMessages");
await call("clone");

await settled("prompt", () => call("prompt", "say hello"));
await settled("tools", () => call("prompt", "use the tools"));
await call("setSessionName", "a talk");
await call("getLastAssistantText");
await call("getMessages");
await call("getSessionStats");
await call("bash", "echo out; exit 3");

events.length = 0;
await settled("queue", async () => {
  await call("prompt", "wait for me");
  await until("message_update");
  await call("steer", "and this");
  await call("followUp", "and that");
  await call("prompt", "third", undefined, "steer");
  await call("clearQueue");
  await call("followUp", "the last");
  await call("getState");
});
await call("compact", "only names");
await settled("abort", async () => {
  await call("prompt", "hold on");
  await until("message_update");
  await call("abort");
});
const entries = await call("getEntries");
await call("getEntries", entries?.entries?.at(-2)?.id ?? "none");
await call("getEntries", "gone");
await call("getTree");
const forks = await call("getForkMessages");
await call("fork", forks?.at(-1)?.entryId ?? "none");
await call("fork", "gone");
await call("clone");
await call("newSession");
await call("waitForIdle", 300); // nothing runs: no event comes
await call("switchSession", earlier);
await call("getMessages");
await call("exportHtml", `${cwd}/out.html`);
await call("switchSession", `${cwd}/gone.jsonl`);
events.length = 0;
const collected = client.collectEvents(30000).catch((error) => [{ type: error.message }]);
await call("prompt", "once more");
report("collectEvents", { result: (await collected).map((event) => event.type) });
const waited = await call("promptAndWait", "and again");
report("promptAndWait", { result: (waited ?? []).length > 0 });
await call("getState");
await client.stop();
