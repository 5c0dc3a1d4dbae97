// Report: the results of the ingest benchmark as tables for a terminal.

import { table } from "../broker/report.ts";
import type { Rate } from "./http.ts";
import { type IngestResults, judgeIngest } from "./targets.ts";

const TITLES: Readonly<Record<string, string>> = {
  ours: "ours, claim and commit",
  "ours-receipt": 'ours, lease "receipt"',
  "ours-ten": "ours, concurrency 10",
  batch: "sqs-consumer, batch mode",
  default: "sqs-consumer, default mode",
  claim: "messages, claim and commit",
  receipt: 'messages, lease "receipt"',
  table: "messages, one row each",
  objects: "S3 events, one row each",
};

function ratesTable(title: string, rates: Readonly<Record<string, Rate>>): string {
  const rows = Object.entries(rates).map(([name, rate]) => [
    TITLES[name] ?? name,
    rate.medianPerSecond.toFixed(0),
    rate.bestPerSecond.toFixed(0),
    rate.cpuMicros.toFixed(0),
    rate.requestsPerMessage.toFixed(3),
  ]);
  return table([[title, "median/s", "best/s", "CPU us each", "requests each"], ...rows]);
}

/** All measurements, then every target with its verdict. */
export function renderIngest(results: IngestResults): string {
  const { http, inProcess, dynamodb, memory } = results;
  const parts = ["durable: broker and ledger with synchronous=FULL"];
  if (http !== undefined) parts.push(ratesTable("over HTTP", http));
  if (inProcess !== undefined) parts.push(ratesTable("in process", inProcess));
  if (dynamodb !== undefined && "missing" in dynamodb) {
    parts.push(`DYNAMODB WAS LEFT OUT: ${dynamodb.missing}`);
  } else if (dynamodb !== undefined) {
    const { messages, writesPerMessage, requests } = dynamodb;
    const actions = Object.entries(requests).map(([action, count]) => `${action} ${count}`);
    const figure = `${writesPerMessage.toFixed(3)} writes per message`;
    parts.push(`DynamoDB Local, ${messages} messages: ${figure} (${actions.join(", ")})`);
  }
  if (memory !== undefined) {
    const { events, rssMib, growth, perSecond } = memory;
    const some = rssMib.filter((_, at) => at % 10 === 9).join(" ");
    parts.push(
      `${events} events, ${perSecond.toFixed(0)}/s; resident MiB after each tenth: ${some}; ` +
        `last quarter over second: ${growth.toFixed(3)}`,
    );
  }
  const verdicts = judgeIngest(results).map(({ target, measured, verdict }) => [
    target,
    measured ?? "-",
    verdict,
  ]);
  parts.push(table([["target", "measured", "verdict"], ...verdicts]));
  return parts.join("\n\n");
}
