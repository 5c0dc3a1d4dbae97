// tidegate init: writes a small pipeline project to start from.

import { relative, resolve } from "node:path";
import { command, EXIT_OK } from "../command.ts";
import { ownCommand, shellQuoted, sourceFolder } from "../own-command.ts";
import { version } from "../version.ts";

export const init = command({
  name: "init",
  summary: "Write a small pipeline project to start from; nothing is overwritten.",
  argument: { name: "FOLDER", doc: "Where to; the current folder if left out.", optional: true },
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
    out.note(
      "For npm install, npm test and npm start in it, run npm run build in the clone first.",
    );
    return EXIT_OK;
  },
});

/** A clone is what its projects depend on, as nobody could install its version from npm. */
function dependencyFor(folder: string): string {
  if (sourceFolder === null) return `^${version()}`;
  return `file:${relative(resolve(folder), sourceFolder)}`;
}
