// Preloaded into npm to prevent it from starting other programs.
//
// Installing from a registry without scripts needs none. For a repository as a dependency npm
// would clone it and run a second npm in the clone, which uses the configuration there.
"use strict";

const children = require("child_process");

for (const name of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]) {
  children[name] = (program) => {
    throw new Error(`pi does not allow npm to start other programs, such as ${program}`);
  };
}
