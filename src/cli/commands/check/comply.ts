// tidegate comply: runs the compliance checks on a producer, for terminals and CI.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf } from "../../../core/errors.ts";
import { linkPackage } from "../../../run/open/link-package.ts";
import type { ProducerUnderTest } from "../../../testkit/compliance/compliance.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, UsageError } from "../../command.ts";
import { runUserCode, withLimit } from "../../run-user-code.ts";

/** How long the producer may take for one event. */
const CALL_MS_MAX = 30_000;

export const comply = command({
  name: "comply",
  summary: "Check a producer against the contract, on an embedded queue with virtual time.",
  argument: {
    name: "FILE",
    doc: "A module whose default export, or export `produce`, is the producer.",
  },
  flags: {
    source: text("NAME", null, "event_source of the sample events."),
    json: toggle("Print the results as JSON."),
  },
  async run({ argument, flags, out }) {
    const file = argument ?? "";
    const { complianceReport, runCompliance } = await import(
      "../../../testkit/compliance/compliance.ts"
    );
    const options = flags.source === undefined ? {} : { source: flags.source };
    const results = await runUserCode(file, out, async () => {
      const producer = withLimit(await loadProducer(file), CALL_MS_MAX);
      return runCompliance(producer, options);
    });
    if (flags.json) out.line(JSON.stringify({ producer: file, results }));
    else for (const line of [file, "", ...complianceReport(results)]) out.line(line);
    return results.every(({ problem }) => problem === null) ? EXIT_OK : EXIT_FAILED;
  },
});

async function loadProducer(file: string): Promise<ProducerUnderTest> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`the file ${file} does not exist`);
  linkPackage();
  const module: Record<string, unknown> = await import(pathToFileURL(path).href).catch(
    (error: unknown) => {
      throw new UsageError(`cannot load ${file}: ${reasonOf(error)}`);
    },
  );
  const producer = module.default ?? module.produce;
  if (typeof producer === "function") return producer as ProducerUnderTest;
  throw new UsageError(`${file} exports no producer; export a function as default or "produce"`);
}
