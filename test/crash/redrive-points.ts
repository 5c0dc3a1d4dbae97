// Redrive points: loaded before the real `tidegate dlq redrive`, makes that process die at a named
// step. The command itself knows nothing of it: what is wrapped is the SDK's client and SQLite.
//   D1. TIDEGATE_TEST_POINT names the step, and after a colon at which occurrence it acts.
//   D2. Receipts of what was received are told, so that a test can let the time pass for which the
//       dead would have kept them hidden.

import { StatementSync } from "node:sqlite";
import { SQSClient } from "@aws-sdk/client-sqs";
import { say } from "./ingest-points.ts";

/** In the order in which a letter comes by. */
export const REDRIVE_POINTS = [
  "received",
  "reopening",
  "reopened",
  "sending-back",
  "sent-back",
  "taking-away",
  "taken-away",
  "putting-back",
  "put-back",
  "removing-dossier",
  "removed-dossier",
] as const;
export type RedrivePoint = (typeof REDRIVE_POINTS)[number];

/** Around which requests to the queues there are points. */
const REQUESTS: ReadonlyMap<string, readonly [RedrivePoint | null, RedrivePoint]> = new Map([
  ["ReceiveMessageCommand", [null, "received"]],
  ["SendMessageBatchCommand", ["sending-back", "sent-back"]],
  ["DeleteMessageBatchCommand", ["taking-away", "taken-away"]],
  ["ChangeMessageVisibilityBatchCommand", ["putting-back", "put-back"]],
]);

/** Around the commit of which statements there are points. */
const STATEMENTS: readonly (readonly [string, RedrivePoint, RedrivePoint])[] = [
  ["UPDATE ledger_record", "reopening", "reopened"],
  ["DELETE FROM ledger_note", "removing-dossier", "removed-dossier"],
];

function createReach(plan: string): (point: RedrivePoint) => void {
  const [planned, nth = "1"] = plan.split(":");
  let times = 0;
  return (point) => {
    if (point !== planned) return;
    times += 1;
    if (times !== Number(nth)) return;
    say(`at ${point}`);
    process.kill(process.pid, "SIGKILL");
  };
}

function watchRequests(reach: (point: RedrivePoint) => void): void {
  const send = SQSClient.prototype.send as (...args: unknown[]) => Promise<unknown>;
  const watched = async function (this: SQSClient, ...args: unknown[]) {
    const [before, after] = REQUESTS.get((args[0] as object).constructor.name) ?? [];
    if (before) reach(before);
    const answer = (await send.apply(this, args)) as {
      readonly Messages?: readonly { readonly ReceiptHandle: string }[];
    };
    for (const { ReceiptHandle } of answer.Messages ?? []) say(`holds ${ReceiptHandle}`); // D2
    if (after && (after !== "received" || answer.Messages !== undefined)) reach(after);
    return answer;
  };
  SQSClient.prototype.send = watched as typeof SQSClient.prototype.send;
}

function watchLedger(reach: (point: RedrivePoint) => void): void {
  const run = StatementSync.prototype.run;
  let written: (typeof STATEMENTS)[number][] = [];
  StatementSync.prototype.run = function (this: StatementSync, ...params: never[]) {
    const commits = this.sourceSQL === "COMMIT";
    if (commits) for (const [, before] of written) reach(before);
    const result = Reflect.apply(run, this, params);
    if (commits) for (const [, , after] of written.splice(0)) reach(after);
    written = [...written, ...STATEMENTS.filter(([text]) => this.sourceSQL.includes(text))];
    return result;
  } as typeof run;
}

const plan = process.env.TIDEGATE_TEST_POINT;
if (plan !== undefined) {
  const reach = createReach(plan); // D1
  watchRequests(reach);
  watchLedger(reach);
}
