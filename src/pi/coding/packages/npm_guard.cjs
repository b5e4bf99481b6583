// Loaded into npm before anything else: npm starts no other program.
//
// Installing from a registry without scripts needs none. A repository as a dependency does: npm
// clones it and prepares it with a second npm, which obeys the configuration in the clone.
"use strict";

const children = require("child_process");

for (const name of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]) {
  children[name] = (program) => {
    throw new Error(`pi lets npm start no other program, such as ${program}`);
  };
}
