// Runs the command in PI_COMMAND as if it were a script for node, as the original's client expects.
const { spawn } = require("node:child_process");
const child = spawn(process.env.PI_COMMAND, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
