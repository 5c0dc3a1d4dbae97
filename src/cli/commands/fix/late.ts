// tidegate late: held records, which were too late for their pipeline.
//   L1. A release names what it releases: --key, --prefix or --all. Without one it does nothing.
//   L2. The exit code is 1 if a record that should have been released was not.

import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, UsageError } from "../../command.ts";
import { ledgerLocation, pipelineLocation, serverLocation } from "../../words/location-flags.ts";

const location = {
  ...pipelineLocation,
  ...ledgerLocation,
};

const which = {
  prefix: text("TEXT", null, "Only s3://bucket/key, or business keys, that start with this text."),
  key: text("KEY", null, "Only this record, event or business key, or this s3://bucket/key."),
};

const json = toggle("Print JSON lines.");

async function load() {
  const [session, release, words, { systemPorts }] = await Promise.all([
    import("../../sessions/dead-letter-session.ts"),
    import("../../../ingest/late/release.ts"),
    import("../../reports/late-text.ts"),
    import("../../../platform/index.ts"),
  ]);
  return { ...session, ...release, words, ports: systemPorts };
}

export const lateList = command({
  name: "late list",
  summary: "List the records that were too late: held in the ledger, or sent to the late queue.",
  flags: { ...location, ...which, json },
  async run({ flags, out }) {
    const { openDeadLetterSession, listHeld, words } = await load();
    const session = await openDeadLetterSession(flags);
    try {
      let listed = 0;
      for (const scope of session.scopes) {
        for await (const record of listHeld(session.ledger, scope, flags)) {
          out.line(flags.json ? words.heldJson(record) : words.heldLine(record));
          listed += 1;
        }
      }
      if (listed === 0) out.note("No held records match.");
      return EXIT_OK;
    } finally {
      await session.close();
    }
  },
});

export const lateRelease = command({
  name: "late release",
  summary: "Send held records back to their queue; they are then processed in their recorded lane.",
  flags: {
    ...location,
    ...which,
    all: toggle("All held records of the pipeline."),
    "dry-run": toggle("Print what would be released, and change nothing."),
    ...serverLocation,
    queue: {
      ...text("QUEUE", null, "Queue of the pipeline (default: the queue that held records name)."),
      env: SETTINGS.queue.env,
    },
    json,
  },
  async run({ flags, out }) {
    if (!flags.all && flags.key === undefined && flags.prefix === undefined) {
      throw new UsageError("late release needs --key, --prefix or --all"); // L1
    }
    const { openDeadLetterSession, heldQueueOf, releaseHeld, words, ports } = await load();
    const session = await openDeadLetterSession(flags);
    try {
      const scope = session.onlyScope();
      const { ledger } = session;
      const queue = await session.openQueues(scope, () => heldQueueOf(ledger, scope));
      if (queue === null) {
        out.note(`The ledger holds no record of ${scope.pipeline}; nothing was changed.`);
        return EXIT_OK;
      }
      const runId = ports.random.uuid();
      const dryRun = flags["dry-run"] ?? false;
      const options = { scope, runId, filter: flags, dryRun };
      const counts = { planned: 0, released: 0, refused: 0 };
      const source = queue.queue;
      for await (const event of releaseHeld({ ...ports, ledger, source }, options)) {
        counts[event.kind] += 1;
        out.line(flags.json ? words.releaseJson(event) : words.releaseLine(event));
      }
      if (flags.json) out.line(JSON.stringify({ event: "summary", ...counts }));
      else out.line(words.releaseSummary(counts, dryRun));
      return counts.refused === 0 ? EXIT_OK : EXIT_FAILED; // L2
    } finally {
      await session.close();
    }
  },
});
