// Campaign: many random schedules against one kind of subject.

import fc from "fast-check";
import { anyCommand } from "./commands.ts";
import { furnish } from "./queue-commands.ts";
import { Session } from "./session.ts";
import type { Subject } from "./subject.ts";

export interface CampaignOptions {
  readonly runs: number;
  readonly commandsMax: number;
  readonly seed: number;
  /** False if the shortest counterexample is not needed. */
  readonly shrinks: boolean;
}

/** Runs until subject and reference disagree; resolves to the report, or null if they agree. */
export async function findDisagreement(
  createSubject: () => Subject,
  options: CampaignOptions,
): Promise<string | null> {
  const schedules = fc.commands(anyCommand, { maxCommands: options.commandsMax, size: "max" });
  const furniture = fc.array(fc.boolean(), { minLength: 9, maxLength: 9 });
  const details = await fc.check(
    fc.asyncProperty(schedules, furniture, async (commands, configured) => {
      const session = new Session(createSubject());
      await session.open();
      await furnish(session, configured);
      await fc.asyncModelRun(() => ({ model: session, real: session }), commands);
      await session.audit();
      await session.broker.close();
    }),
    { numRuns: options.runs, seed: options.seed, endOnFailure: !options.shrinks },
  );
  if (!details.failed) return null;
  const report = (await fc.asyncDefaultReportMessage(details)) ?? "failed";
  return `${report}\n${(details.errorInstance as Error | undefined)?.stack}`;
}
