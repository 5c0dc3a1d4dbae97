// Command table: all commands by their first word, and where they are loaded from.
//   T1. A command line loads the commands of its first word only (L2 of command.ts).
//   T2. The longest name that fits is run: "replay list" before "replay", in whatever order the
//       table has them. The order is the one in which people read them.

import { type Command, type CommandGroup, group } from "./command.ts";

/** In the order of docs/reference/cli.md, which is compared with this table. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  group("up", async () => [(await import("./commands/start/up.ts")).up]),
  group("init", async () => [(await import("./commands/start/init.ts")).init]),
  group("dev", async () => [(await import("./commands/start/dev.ts")).dev]),
  group("run", async () => [(await import("./commands/start/run.ts")).run]),
  group("task", async () => [(await import("./commands/start/task.ts")).task]),
  group("dispatch", async () => [(await import("./commands/start/dispatch.ts")).dispatch]),
  group("console", async () => [(await import("./commands/start/console.ts")).consoleCommand]),
  group("audit", async () => {
    const { auditVerify, auditCommand } = await import("./commands/past/audit.ts");
    return [auditCommand, auditVerify];
  }),
  group("backfill", async () => [(await import("./commands/past/backfill.ts")).backfillCommand]),
  group("why", async () => [(await import("./commands/look/why.ts")).why]),
  group("runs", async () => {
    const { runsList, runsManifest } = await import("./commands/past/lineage.ts");
    return [runsList, runsManifest];
  }),
  group("lineage", async () => [(await import("./commands/past/lineage.ts")).lineage]),
  group("records", async () => {
    const { recordsList, recordsDuplicates } = await import("./commands/look/records.ts");
    return [recordsList, recordsDuplicates];
  }),
  group("dlq", async () => {
    const { dlqList, dlqShow, dlqRedrive, dlqDrop } = await import("./commands/fix/dlq.ts");
    return [dlqList, dlqShow, dlqRedrive, dlqDrop];
  }),
  group("quarantine", async () => {
    const { quarantineList, quarantineRedrive, quarantineDrop } = await import(
      "./commands/fix/quarantine.ts"
    );
    return [quarantineList, quarantineRedrive, quarantineDrop];
  }),
  group("late", async () => {
    const { lateList, lateRelease } = await import("./commands/fix/late.ts");
    return [lateList, lateRelease];
  }),
  group("watermark", async () => [(await import("./commands/look/watermark.ts")).watermark]),
  group("pipeline", async () => {
    const { pipelinePause, pipelineResume, pipelineStatus } = await import(
      "./commands/look/pipeline.ts"
    );
    return [pipelinePause, pipelineResume, pipelineStatus];
  }),
  group("retry", async () => [(await import("./commands/fix/retry.ts")).retry]),
  group("top", async () => [(await import("./commands/look/top.ts")).top]),
  group("replay", async () => {
    const { replay, replayList, replayShow, replayDiff, replayPromote, replayDrop, replayCancel } =
      await import("./commands/past/replay.ts");
    return [replay, replayList, replayShow, replayDiff, replayPromote, replayDrop, replayCancel];
  }),
  group("reproduce", async () => [(await import("./commands/past/reproduce.ts")).reproduce]),
  group("jobs", async () => {
    const { jobsRegister, jobsList, jobsShow, jobsRetry } = await import(
      "./commands/produce/jobs.ts"
    );
    return [jobsRegister, jobsList, jobsShow, jobsRetry];
  }),
  group("relay", async () => [(await import("./commands/produce/relay.ts")).relay]),
  group("sweep", async () => [(await import("./commands/produce/relay.ts")).sweep]),
  group("comply", async () => [(await import("./commands/check/comply.ts")).comply]),
  group("prove", async () => [(await import("./commands/check/prove.ts")).prove]),
  group("contract", async () => {
    const { contractShow, contractDiff } = await import("./commands/check/contract.ts");
    return [contractShow, contractDiff];
  }),
  group("policy", async () => [(await import("./commands/check/policy.ts")).policyExplain]),
  group("doctor", async () => {
    const { doctorExplain } = await import("./commands/check/doctor-explain.ts");
    const { doctor } = await import("./commands/check/doctor.ts");
    return [doctor, doctorExplain];
  }),
  group("ledger", async () => {
    const { ledgerInit, ledgerMigrate, ledgerCheck, ledgerShow, ledgerStatsCommand } = await import(
      "./commands/operate/ledger.ts"
    );
    const { ledgerPurge } = await import("./commands/operate/purge.ts");
    return [ledgerInit, ledgerMigrate, ledgerCheck, ledgerShow, ledgerStatsCommand, ledgerPurge];
  }),
  group("outbox", async () => {
    const { outboxStats } = await import("./commands/produce/relay.ts");
    const { outboxPurge } = await import("./commands/operate/purge.ts");
    return [outboxStats, outboxPurge];
  }),
  group("compact", async () => [(await import("./commands/operate/compact.ts")).compact]),
  group("backup", async () => [(await import("./commands/operate/backup.ts")).backup]),
  group("restore", async () => [(await import("./commands/operate/backup.ts")).restore]),
  group("infra", async () => {
    const { infraDiff } = await import("./commands/operate/infra-diff.ts");
    const { infra } = await import("./commands/operate/infra.ts");
    return [infra, infraDiff];
  }),
  group("sim", async () => [(await import("./commands/check/sim.ts")).sim]),
];

/** The commands with this first word; none if no command has it. */
export async function commandsOf(word: string): Promise<readonly Command[]> {
  const match = COMMAND_GROUPS.find((each) => each.word === word);
  return match === undefined ? [] : match.load();
}

export async function allCommands(): Promise<readonly Command[]> {
  const loaded = await Promise.all(COMMAND_GROUPS.map(({ load }) => load()));
  return loaded.flat();
}
