// tidegate init: creates a small pipeline project.

import { resolve } from "node:path";
import { command, EXIT_OK, toggle } from "../../command.ts";
import { ownCommand, shellQuoted, sourceFolder } from "../../own-command.ts";
import { tidegateDependency } from "../../tidegate-dependency.ts";

export const init = command({
  name: "init",
  summary: "Create a small pipeline project; overwrites nothing.",
  argument: { name: "FOLDER", doc: "Target folder (default: the current one).", optional: true },
  flags: {
    ci: toggle("Write only a CI workflow with all checks, into an existing project."),
  },
  async run({ argument: folder = ".", flags, out }) {
    if (flags.ci) {
      const { writeWorkflow } = await import("../../../operate/init/ci-workflow.ts");
      out.line(writeWorkflow(folder));
      return EXIT_OK;
    }
    const { writeProject } = await import("../../../operate/init/new-project.ts");
    const files = writeProject(folder, tidegateDependency(folder, sourceFolder));
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
