// tidegate backup, tidegate restore: a data folder copied while it is in use, and made again.

import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_OK, text, toggle } from "../../command.ts";

const data = {
  ...text("FOLDER", SETTINGS.data.fallback, SETTINGS.data.doc),
  env: SETTINGS.data.env,
};

export const backup = command({
  name: "backup",
  summary: "Copy a data folder into a new folder, while a cloud and pipelines run on it.",
  argument: { name: "DIR", doc: "Folder of the backup; it must be new or empty." },
  flags: { data, json: toggle("Print the report as JSON.") },
  async run({ argument: target = "", flags, out }) {
    const { backupFolder } = await import("../../../operate/folders.ts");
    const { megabytesText } = await import("../../print/folder-text.ts");
    const { data: from = SETTINGS.data.fallback } = flags;
    const report = await backupFolder(from, target, (step) => out.note(step));
    if (flags.json) out.line(JSON.stringify(report));
    else out.line(`backed up ${from} to ${target}: ${megabytesText(report)}`);
    return EXIT_OK;
  },
});

export const restore = command({
  name: "restore",
  summary: "Make a data folder from a backup, after verifying every file of it.",
  argument: { name: "DIR", doc: "Folder of the backup." },
  flags: { data, json: toggle("Print the report as JSON.") },
  async run({ argument: source = "", flags, out }) {
    const { restoreFolder } = await import("../../../operate/folders.ts");
    const { megabytesText } = await import("../../print/folder-text.ts");
    const { data: to = SETTINGS.data.fallback } = flags;
    const report = restoreFolder(source, to, (step) => out.note(step));
    const { createdAt } = report;
    if (flags.json) out.line(JSON.stringify(report));
    else out.line(`restored ${to} as of ${createdAt}: ${megabytesText(report)}`);
    return EXIT_OK;
  },
});
