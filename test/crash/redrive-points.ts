// Redrive points: loaded before the real `tidegate dlq redrive`, kills that process at a named
// step. The command is unchanged: this file wraps the SDK's client and SQLite.
//   D1. TIDEGATE_TEST_POINT names the step and, after a colon, the occurrence at which it acts.
//   D2. Receipts of received messages are printed, so that a test can end the visibility timeout
//       during which they would stay in flight.

import { StatementSync } from "node:sqlite";
import { SQSClient } from "@aws-sdk/client-sqs";
import { say } from "./ingest-points.ts";

/** In the order in which a dead letter reaches them. */
export const REDRIVE_POINTS = [
  "received",
  "reopening",
  "reopened",
  "sending-back",
  "sent-back",
  "deleting",
  "deleted",
  "returning",
  "returned",
  "removing-dossier",
  "removed-dossier",
] as const;
export type RedrivePoint = (typeof REDRIVE_POINTS)[number];

/** The points before and after each request to a queue. */
const REQUESTS: ReadonlyMap<string, readonly [RedrivePoint | null, RedrivePoint]> = new Map([
  ["ReceiveMessageCommand", [null, "received"]],
  ["SendMessageBatchCommand", ["sending-back", "sent-back"]],
  ["DeleteMessageBatchCommand", ["deleting", "deleted"]],
  ["ChangeMessageVisibilityBatchCommand", ["returning", "returned"]],
]);

/** The points before and after the commit of these statements. */
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
