// Lineage events: a pipeline's run as OpenLineage events, sent while it happens.
//   L1. START follows the row of the run in the ledger; COMPLETE or FAIL follows its end. A process
//       that is killed sends neither of the last two.
//   L2. The last event lists what the run committed, from the ledger, as `tidegate lineage` does.
//       If that is too much for one document, or the ledger does not answer, it lists nothing.

import { appendFile } from "node:fs/promises";
import { TidegateError } from "../../core/errors.ts";
import { seconds } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { LineageFacts } from "../../lineage/lineage-facts.ts";
import { renderOpenLineage, startEvent } from "../../lineage/openlineage.ts";
import { outputLocations } from "../../lineage/recorded/output-locations.ts";
import { factsOfRun, lineageRunOf } from "../../lineage/recorded/recorded-run.ts";
import { createHttpClient } from "../../platform/http/node-http-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { createEventSender, type SendEvent } from "./event-sender.ts";

const HTTP = /^https?:\/\//i;
const DEFAULT_PATH = "/api/v1/lineage";
const TIMEOUT_MS = seconds(10);
const HTTP_OK_MAX = 299;
const LOST = CONSUMER_METRICS.lineageLost.name;

export interface LineageEvents {
  /** Sends the last event and closes. `failure` is null if the run ended as it should. */
  close(failure: string | null): Promise<void>;
}

const NO_EVENTS: LineageEvents = { close: async () => undefined };

/** Sends START, and the end when closed (L1). Without a target, nothing is sent. */
export async function startLineageEvents(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly telemetry: Telemetry },
  run: { readonly id: string; readonly pipeline: Pipeline; readonly ledgerUrl: string },
  target: string | undefined,
): Promise<LineageEvents> {
  if (target === undefined || target === "") return NO_EVENTS;
  const sender = createEventSender(ports, { send: senderTo(target), lostMetric: LOST });
  const { ledger } = ports;
  const { name, generation } = run.pipeline;
  const scope = { pipeline: name, generation };
  const rowNow = () => ledger.findRun(scope, run.id).catch(() => undefined);
  const first = await rowNow();
  if (first === undefined) return NO_EVENTS;
  sender.add(JSON.stringify(startEvent(lineageRunOf(scope, first))));
  return {
    async close(failure) {
      const row = (await rowNow()) ?? first;
      const endedAt = row.endedAt ?? ports.clock.now();
      const recorded = { scope, row: { ...row, endedAt } };
      const nothing: LineageFacts = {
        run: lineageRunOf(scope, recorded.row),
        inputs: [],
        outputs: [],
      };
      const locations = outputLocations(run.pipeline, run.ledgerUrl);
      const facts = await factsOfRun(ledger, recorded, locations).catch(() => nothing); // L2
      const last = renderOpenLineage({ ...facts, run: { ...facts.run, failure } }).at(-1);
      sender.add(JSON.stringify(last));
      await sender.close();
    },
  };
}

/** Posts to a URL, whose path is that of the OpenLineage API by default, or appends to a file. */
export function senderTo(target: string): SendEvent {
  if (!HTTP.test(target)) {
    const path = target.replace(/^file:/, "");
    return (event) => appendFile(path, `${event}\n`);
  }
  if (!URL.canParse(target)) {
    const message = `${target} is not a URL; name the base URL of an OpenLineage server, or a file`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const url = new URL(target);
  if (url.pathname === "/") url.pathname = DEFAULT_PATH;
  const client = createHttpClient();
  const headers = { "content-type": "application/json" };
  return async (body, signal) => {
    const status = await client.post(
      { url: url.href, headers, body, timeoutMs: TIMEOUT_MS },
      signal,
    );
    if (status > HTTP_OK_MAX) throw new Error(`${url.origin} answered ${status}`);
  };
}
