// tidegate init: writes a small pipeline project to start from.

import { command, EXIT_OK } from "../command.ts";
import { version } from "../version.ts";

export const init = command({
  name: "init",
  summary: "Write a small pipeline project to start from; nothing is overwritten.",
  argument: { name: "FOLDER", doc: "Where to; the current folder if left out.", optional: true },
  flags: {},
  async run({ argument: folder = ".", out }) {
    const { writeProject } = await import("../../run/new-project.ts");
    const files = writeProject(folder, version());
    for (const file of files) out.line(file);
    const steps = [
      ...(folder === "." ? [] : [`cd ${folder}`]),
      "npm install",
      "npm test",
      "npm start",
    ];
    out.note(`Next: ${steps.join(" && ")}`);
    return EXIT_OK;
  },
});
