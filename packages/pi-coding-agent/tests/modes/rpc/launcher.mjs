// Starts pi for programs that can only start `node <path>`, as pi's own RpcClient does.
// PI_COMMAND names the program and its first arguments, as a JSON array; the default is `pi`.
import { spawn } from "node:child_process";
import process from "node:process";

const [program, ...first] = JSON.parse(process.env.PI_COMMAND ?? '["pi"]');
const child = spawn(program, [...first, ...process.argv.slice(2)], { stdio: "inherit" });

for (const name of ["SIGTERM", "SIGHUP", "SIGINT"]) {
  process.on(name, () => child.kill(name));
}

child.on("error", (problem) => {
  process.stderr.write(`Cannot start ${program}: ${problem.message}\n`);
  process.exit(127);
});

child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // End as the child did.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
