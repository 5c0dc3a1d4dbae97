// tidegate init: creates a small pipeline project.

import { relative, resolve } from "node:path";
import { command, EXIT_OK } from "../command.ts";
import { ownCommand, shellQuoted, sourceFolder } from "../own-command.ts";
import { version } from "../version.ts";

export const init = command({
  name: "init",
  summary: "Create a small pipeline project; overwrites nothing.",
  argument: { name: "FOLDER", doc: "Target folder (default: the current one).", optional: true },
  flags: {},
  async run({ argument: folder = ".", out }) {
    const { writeProject } = await import("../../run/new-project.ts");
    const files = writeProject(folder, dependencyFor(folder));
    for (const file of files) out.line(file);
    const enter = folder === "." ? [] : [`cd ${shellQuoted(folder)}`];
    if (sourceFolder === null) {
      out.note(`Next: ${[...enter, "npm install", "npm test", "npm start"].join(" && ")}`);
      return EXIT_OK;
    }
    const start = `${ownCommand(resolve(folder))} dev pipeline.ts --watch-folder inbox`;
    out.note(`Next: ${[...enter, start].join(" && ")}`);
    out.note("Before npm install, npm test or npm start there, run npm run build in the clone.");
    return EXIT_OK;
  },
});

/** A project of a clone depends on the clone, whose version may not be on npm. */
function dependencyFor(folder: string): string {
  if (sourceFolder === null) return `^${version()}`;
  return `file:${relative(resolve(folder), sourceFolder)}`;
}
