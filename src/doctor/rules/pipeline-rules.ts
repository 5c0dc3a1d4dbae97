// Pipeline rules: settings of a pipeline file, alone or together with its queue.

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Rule } from "../rule.ts";
import { consumedQueues } from "./consumed-queues.ts";
import { isSensitive } from "./sensitive-names.ts";
import { spanText } from "./words.ts";

export const PIPELINE_RULES: readonly Rule[] = [
  {
    id: "TGD060",
    name: "ledger-retention-short",
    title: "Ledger that forgets before the queues do",
    severity: "error",
    risk: "double effect",
    consequence:
      "A message that is redriven after its record has expired is processed a second time.",
    fix: "Set retention.ledgerDays above the retention of the queue and its dead-letter queue together.",
    check: (setup) =>
      consumedQueues(setup).flatMap(({ queue, deadLetters, pipeline }) => {
        if (pipeline === null || queue.retentionMs === undefined) return [];
        const deadMs: DurationMs = deadLetters?.retentionMs ?? durationMs(0);
        const longest = queue.retentionMs + deadMs;
        if (pipeline.ledgerRetentionMs > longest) return [];
        const message =
          `pipeline ${pipeline.name} remembers records for ${spanText(pipeline.ledgerRetentionMs)}, ` +
          `but a message can return after ${spanText(longest)}, and is then processed again; set ` +
          `retention.ledgerDays to more than that`;
        return [{ location: pipeline.location, message }];
      }),
  },
  {
    id: "TGD061",
    name: "retry-none",
    title: "Pipeline without retries",
    severity: "warning",
    risk: "delay",
    consequence: "Every short outage makes dead letters that somebody has to redrive.",
    fix: "Leave retry.attempts at its default of 7.",
    check: ({ pipeline }) =>
      pipeline?.attempts !== 1
        ? []
        : [
            {
              location: pipeline.location,
              message:
                `pipeline ${pipeline.name} makes one attempt, so every short outage makes dead ` +
                `letters; set retry.attempts to 7`,
            },
          ],
  },
  {
    id: "TGD062",
    name: "concurrency-one",
    title: "One record at a time on a standard queue",
    severity: "note",
    risk: "delay",
    consequence: "The backlog grows although records could be processed in parallel.",
    fix: "Raise concurrency, or limit it per key.",
    check: (setup) =>
      consumedQueues(setup).flatMap(({ queue, pipeline }) => {
        if (pipeline === null || queue.fifo || pipeline.concurrency !== 1) return [];
        const message =
          `pipeline ${pipeline.name} handles one record at a time, although standard queue ` +
          `${queue.name} has no order; set concurrency to 10`;
        return [{ location: pipeline.location, message }];
      }),
  },
  {
    id: "TGD063",
    name: "sensitive-unmasked",
    title: "Sensitive column that is not masked",
    severity: "warning",
    risk: "exposure",
    consequence: "Failure reports and logs show the value.",
    fix: "Add the field to `mask`.",
    check: ({ pipeline }) =>
      (pipeline?.columns ?? [])
        .filter((name) => isSensitive(name) && !pipeline?.masked.includes(name))
        .map((name) => ({
          location: pipeline?.location ?? { name },
          message:
            `pipeline ${pipeline?.name} writes ${name} and does not mask it, so failure reports ` +
            `show it; add "${name}" to mask`,
        })),
  },
];
