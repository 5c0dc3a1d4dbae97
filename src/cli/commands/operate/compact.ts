// tidegate compact: gives the space of deleted data back to the disk.

import { command, EXIT_OK, text, toggle } from "../../command.ts";

const DATA_FALLBACK = ".tidegate";

export const compact = command({
  name: "compact",
  summary: "Shrink the files of a data folder, or a SQLite ledger or outbox, to their live data.",
  flags: {
    data: text("FOLDER", null, "Data folder (default: .tidegate, without --url)."),
    url: text("URL", null, "Ledger or outbox in another file: sqlite:path."),
    json: toggle("Print the sizes before and after as JSON."),
  },
  async run({ flags, out }) {
    const { compactStores } = await import("../../../operate/folders.ts");
    const { compactLine } = await import("../../print/folder-text.ts");
    const data = flags.data ?? (flags.url === undefined ? DATA_FALLBACK : null);
    const reports = compactStores({ data, url: flags.url ?? null }, (note) => out.note(note));
    if (flags.json === true) out.line(JSON.stringify({ files: reports }));
    else for (const report of reports) out.line(compactLine(report));
    return EXIT_OK;
  },
});
