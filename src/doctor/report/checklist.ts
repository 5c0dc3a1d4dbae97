// Checklist: what a safe pipeline has, each item ticked or not, with evidence.
//   K1. An item is ticked only if the setup shows it. What Tidegate does for every pipeline is
//       shown by a pipeline; what depends on settings is shown by settings without findings.
//   K2. An item that nothing shows says what to name on the command line.

import type { Finding } from "../rule.ts";
import { consumedQueues } from "../rules/consumed-queues.ts";
import { spanText } from "../rules/words.ts";
import type { Setup } from "../setup.ts";
import { type Unread, unreadSummary } from "../unread.ts";

interface Examined {
  readonly setup: Setup;
  readonly findings: readonly Finding[];
  readonly unread: readonly Unread[];
}

interface Tick {
  readonly done: boolean;
  readonly evidence: string;
}

interface ChecklistItem {
  readonly list: string;
  readonly item: string;
  /** Names of rules whose findings untick the item. */
  readonly rules: readonly string[];
  readonly tick: (setup: Setup) => Tick;
}

const NO_PIPELINE = "name a pipeline file; other consumers are not checked for this";

/** Ticked by every pipeline, because the runtime does it. */
const byPipeline =
  (evidence: (pipeline: NonNullable<Setup["pipeline"]>) => string) =>
  ({ pipeline }: Setup): Tick =>
    pipeline === null
      ? { done: false, evidence: NO_PIPELINE }
      : { done: true, evidence: evidence(pipeline) };

export const CHECKLIST: readonly ChecklistItem[] = [
  {
    list: "Idempotency",
    item: "Stable idempotency_key implemented",
    rules: ["key-from-attribute", "dedup-id-volatile", "body-volatile"],
    tick: byPipeline(({ name }) => `pipeline ${name} derives keys from the event`),
  },
  {
    list: "Idempotency",
    item: "Messages deleted only after their effects are committed",
    rules: ["no-idempotency", "delete-before-processing"],
    tick: byPipeline(({ name }) => `pipeline ${name} deletes a message after its commit`),
  },
  {
    list: "Idempotency",
    item: "Atomic / merge-on-read upsert semantics enforced",
    rules: ["ledger-retention-short"],
    tick: byPipeline(({ ledgerRetentionMs }) => {
      return `effects and ledger commit together; records last ${spanText(ledgerRetentionMs)}`;
    }),
  },
  {
    list: "Retries",
    item: "Exponential backoff with jitter implemented",
    rules: ["retry-none", "sdk-retries-off"],
    tick: byPipeline(({ attempts }) => `up to ${attempts} attempts, with full jitter`),
  },
  {
    list: "Retries",
    item: "Attempts capped; visibility timeout sized accordingly",
    rules: ["visibility-short", "visibility-below-function", "visibility-static"],
    tick: byPipeline(({ attempts, visibilityMs }) => {
      return `${attempts} attempts; ${spanText(visibilityMs)}, renewed by heartbeats`;
    }),
  },
  {
    list: "Retries",
    item: "Clear retryable vs. non-retryable error taxonomy",
    rules: ["delete-on-failure"],
    tick: byPipeline(() => "errors have classes: docs/reference/error-classes.md"),
  },
  {
    list: "DLQ",
    item: "DLQ attached with sane maxReceiveCount",
    rules: ["dead-letters-none", "receives-missing", "receives-below-attempts", "receives-too-few"],
    tick: (setup) => {
      const consumed = consumedQueues(setup).map(({ queue }) => queue);
      if (consumed.length === 0) return { done: false, evidence: "name --queue or --terraform" };
      const evidence = consumed.map(({ name, redrive }) => {
        return `${name}: maxReceiveCount ${redrive?.maxReceiveCount ?? "unknown"}`;
      });
      return {
        done: consumed.every(({ redrive }) => redrive != null),
        evidence: evidence.join(", "),
      };
    },
  },
  {
    list: "DLQ",
    item: "Redrive SOP documented and tools available",
    rules: ["dead-letters-loop", "redrive-refused"],
    tick: byPipeline(() => "tidegate dlq list, show and redrive; docs/runbooks"),
  },
  {
    list: "DLQ",
    item: "DLQ metrics & alerts wired to dashboards and on-call",
    rules: [
      "dead-letter-alarm-missing",
      "alarm-always-on",
      "alarm-without-action",
      "alarm-on-sent",
    ],
    tick: ({ alarms }) => {
      if (alarms === undefined) return { done: false, evidence: "name --terraform" };
      const wired = alarms.filter(({ hasActions }) => hasActions === true).length;
      const evidence = `alarms with actions: ${wired} of ${alarms.length}`;
      return { done: wired > 0, evidence: wired > 0 ? evidence : `${evidence}; set alarm_actions` };
    },
  },
  {
    list: "Backfills & Late Data",
    item: "Event-time watermarking implemented",
    rules: [],
    tick: byPipeline(() => "each record has a lane; docs/concepts/watermarks.md"),
  },
  {
    list: "Backfills & Late Data",
    item: "Replay runs use frozen configs and seeds",
    rules: ["bucket-unversioned"],
    tick: ({ buckets }) => {
      const versioned = buckets.filter((bucket) => bucket.versioned === true);
      if (versioned.length === 0) return { done: false, evidence: "no versioned bucket is shown" };
      const names = versioned.map(({ name }) => name).join(", ");
      return { done: true, evidence: `inputs are versioned: ${names}` };
    },
  },
  {
    list: "Backfills & Late Data",
    item: "run_manifest.json and PROV-O lineage recorded",
    rules: [],
    tick: () => ({ done: false, evidence: "the doctor cannot see manifests; check by hand" }),
  },
  {
    list: "Observability",
    item: "Metrics, logs, traces correlated by idempotency_key and trace_id",
    rules: [],
    tick: byPipeline(() => "log lines and spans carry the record key; docs/guides/observing.md"),
  },
  {
    list: "Observability",
    item: "SLOs defined and surfaced in dashboards",
    rules: ["dashboard-missing", "backlog-alarm-missing", "age-alarm-missing"],
    tick: ({ dashboards }) =>
      dashboards === undefined
        ? { done: false, evidence: "name --terraform" }
        : { done: dashboards > 0, evidence: `dashboards: ${dashboards}` },
  },
  {
    list: "Observability",
    item: "Runbooks linked from alerts",
    rules: [],
    tick: ({ alarms }) => {
      if (alarms === undefined) return { done: false, evidence: "name --terraform" };
      const linked = alarms.filter(({ hasRunbook }) => hasRunbook === true).length;
      const evidence = `alarms with a link: ${linked} of ${alarms.length}`;
      const done = alarms.length > 0 && linked === alarms.length;
      return {
        done,
        evidence: done ? evidence : `${evidence}; write its URL into the description`,
      };
    },
  },
];

export function checklistText({ setup, findings, unread }: Examined): readonly string[] {
  const lines: string[] = [];
  let list = "";
  for (const item of CHECKLIST) {
    if (item.list !== list) lines.push(...(lines.length === 0 ? [] : [""]), item.list);
    list = item.list;
    const { done, evidence } = judge(item, setup, findings);
    lines.push(`- [${done ? "x" : " "}] ${item.item}`, `      ${evidence}`);
  }
  const missing = unreadSummary(unread);
  return missing === null ? lines : [...lines, "", missing];
}

function judge({ rules, tick }: ChecklistItem, setup: Setup, findings: readonly Finding[]): Tick {
  const broken = findings.filter(({ rule }) => rules.includes(rule.name));
  if (broken.length === 0) return tick(setup); // K1
  return {
    done: false,
    evidence: broken.map(({ rule, message }) => `${rule.id}: ${message}`).join("; "),
  };
}
