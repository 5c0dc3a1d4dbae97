// Planted bugs: mistakes that systems of this kind have made, each in one place of this code.

import type { PlantedBug } from "./planted-bug.ts";

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "ack-before-commit",
    mistake: "A record counts as committed while its commit is still in flight.",
    file: "src/ingest/pipeline.ts",
    find:
      "const committed =\n" +
      '      prepared.kind === "prepared" ? await commit.commit(prepared, claim, inFlight) : prepared;',
    replace:
      'const committed: CommitOutcome = { kind: "committed" };\n' +
      '    if (prepared.kind === "prepared") void commit.commit(prepared, claim, inFlight);',
    checker: "ack-after-commit",
  },
  {
    name: "no-fence-check",
    mistake: "A consumer may commit under a claim that another consumer has taken over.",
    file: "src/ledger/record-transitions.ts",
    find: 'return record.kind === "claimed" && record.fence === fence ? record : null;',
    replace: 'return record.kind === "claimed" ? record : null;',
    checker: "no-effect-under-older-fence",
  },
  {
    name: "claim-without-expiry",
    mistake: "A claim whose owner crashed never expires.",
    file: "src/ledger/record-transitions.ts",
    find: 'if (from.kind === "claimed" && from.leaseUntil > now) {',
    replace: 'if (from.kind === "claimed") {',
    checker: "liveness",
  },
  {
    name: "effect-before-claim",
    mistake: "A sink gets effects under an invented fence, before anything is in the ledger.",
    file: "src/ingest/running/consumer-parts.ts",
    find: 'pipeline.lease === "receipt" && sink?.mode !== "idempotent"',
    replace: 'pipeline.lease === "receipt"',
    checker: "write-ahead",
  },
  {
    name: "dedup-forgotten-on-restart",
    mistake: "A restarted broker has lost its deduplication ids.",
    file: "src/broker/engine/recovery.ts",
    find: 'window?.dedup.add(Buffer.from(entry.digest, "hex"), entry.acceptedAt, entry);',
    replace: "window?.dedup.oldest();",
    checker: "dedup-window",
  },
  {
    name: "dead-letter-move-in-two-steps",
    mistake: "A record is parked in one write, and its dossier is stored in another.",
    file: "src/ingest/stages/fail.ts",
    find: "await ledger.fail(scope, [{ ...attempt, permanent: true, note }]);",
    replace:
      "await ledger.fail(scope, [{ ...attempt, permanent: true }]);\n" +
      "    await ledger.addNotes(scope, [note]);",
    checker: "no-loss",
  },
  {
    name: "dead-letter-noted-before-sent",
    mistake: "The dossier says that the dead letter is in its queue before it is sent.",
    file: "src/ingest/stages/fail.ts",
    find: "const sent = await sendDeadLetter({ clock, deadLetters, queueClock }, (messageBytesMax) =>",
    replace:
      'const early = { queue: deadLetters.name, message_id: "", sent_at: clock.now() };\n' +
      "    const text = encodeDossier({ ...dossier, dead_letter: { ...early, fence } });\n" +
      '    const noted = { kind: "dossier", name: record.key, at: writtenAt, count: 0 } as const;\n' +
      "    await ledger.addNotes(this.#options.scope, [{ ...noted, body: text }]);\n" +
      "    const sent = await sendDeadLetter({ clock, deadLetters, queueClock }, (messageBytesMax) =>",
    checker: "no-loss",
  },
  {
    name: "heartbeat-missing",
    mistake: "The lease of a record with a slow handler is not renewed.",
    file: "src/ingest/running/lease-renewer.ts",
    find: "return !renewing && now.steady >= waitUntil && isSoonDue(term, now);",
    replace: "return renewing && now.steady >= waitUntil && isSoonDue(term, now);",
    checker: "liveness",
  },
  {
    name: "group-not-halted",
    mistake: "Records behind a failed one of their group are processed without it.",
    file: "src/ingest/running/consumer-parts.ts",
    find: "halting: queue.fifo,",
    replace: "halting: false,",
    checker: "fifo-order",
  },
  {
    name: "sequencer-ignored",
    mistake: "Changes of an object are applied in the order of their delivery.",
    file: "src/core/events/sequencer.ts",
    find: "return one < two ? -1 : 1;",
    replace: "return 1;",
    checker: "last-writer-wins",
  },
  {
    name: "outbox-marked-before-sent",
    mistake: "A row is marked as sent before the queue has responded.",
    file: "src/produce/outbox-sender.ts",
    find: 'this.#onPoint("before-send");\n',
    replace:
      'this.#onPoint("before-send");\n' +
      "    const early = batch.map(({ row: { key, epoch } }) => {\n" +
      '      return { key, epoch, messageId: "" };\n' +
      "    });\n" +
      "    await this.#ports.outbox.markSent(target.name, early).catch(() => undefined);\n",
    checker: "no-loss",
  },
  {
    name: "retry-without-cap",
    mistake: "A record that always fails is retried forever.",
    file: "src/ingest/spec/define-pipeline.ts",
    find: "attempts: retry.attempts ?? DEFAULTS.attempts,",
    replace: "attempts: Number.MAX_SAFE_INTEGER,",
    checker: "liveness",
  },
  {
    name: "backoff-without-cap",
    mistake: "The backoff between two attempts doubles without a cap.",
    file: "src/ingest/policy/retry.ts",
    find: "return Math.min(Math.max(0, cap), Math.max(0, base) * 2 ** times);",
    replace: "return Math.max(0, cap) * 0 + Math.max(0, base) * 2 ** times;",
    checker: "liveness",
  },
  {
    name: "watermark-free-late-drop",
    mistake: "Records older than a minute by the consumer's clock are dropped as late.",
    file: "src/ingest/pipeline.ts",
    find: "const decision = stages.watermark.decide(record, inFlight);",
    replace:
      "if (msBetween(record.eventTime, stages.clock.now()) > 60_000) {\n" +
      '    return { kind: "done", how: "dropped" };\n' +
      "  }\n" +
      "  const decision = stages.watermark.decide(record, inFlight);",
    checker: "no-loss",
  },
  {
    name: "counter-not-durable",
    mistake: "The broker stores its message counter as used so far, not as far as it is reserved.",
    file: "src/broker/engine/engine.ts",
    find: 'changes.push({ kind: "set-sequence", seq: this.#reservedThrough });',
    replace: 'changes.push({ kind: "set-sequence", seq: state.sequence });',
    checker: "fifo-order",
  },
  {
    name: "fence-from-the-clock-alone",
    mistake: "A fence is the wall clock, which may stand still or go back.",
    file: "src/ledger/record-transitions.ts",
    find: 'return fenceOf(record.kind === "absent" ? now : Math.max(record.fence + 1, now));',
    replace: "return fenceOf(now);",
    checker: "no-effect-under-older-fence",
  },
  {
    name: "watermark-forgotten-on-restart",
    mistake: "An older note replaces a newer one.",
    file: "src/ledger/notes.ts",
    find: "const { at, body } = added.at >= previous.at ? added : previous;",
    replace: "const { at, body } = added;",
    checker: "watermark-monotone",
  },
  {
    name: "watermark-without-lateness",
    mistake: "The watermark is at the newest event, so anything slightly older is late.",
    file: "src/ingest/policy/watermark.ts",
    find: "const reached = subtractMs(least.latest, state.allowedLatenessMs);",
    replace: "const reached = least.latest;",
    checker: "watermark-monotone",
  },
  {
    name: "relay-idle",
    mistake: "Rows that a crashed producer registered and did not send are never sent.",
    file: "src/produce/relay.ts",
    find: "while (!signal.aborted) {",
    replace: "while (signal.aborted) {",
    checker: "liveness",
  },
  {
    name: "dedup-id-of-the-try",
    mistake: "A row that is resent gets a new deduplication id.",
    file: "src/produce/outbox-sender.ts",
    find: "dedupId: fifo ? dedupIdOf(row) : null };",
    replace: "dedupId: fifo ? dedupIdOf({ ...row, epoch: row.leaseUntil }) : null };",
    checker: "dedup-window",
  },
  {
    name: "outage-counted",
    mistake: "An attempt that ends because the ledger or the sink is down is counted.",
    file: "src/ingest/stages/fail.ts",
    find: 'if (stage === "commit" && retry !== "never" && blames !== "record") {',
    replace: 'if (stage === "commit" && retry === "never" && blames !== "record") {',
    checker: "outage-not-counted",
  },
  {
    name: "claim-not-renewed",
    mistake: "The message of a slow handler stays in flight, but its claim in the ledger expires.",
    file: "src/ingest/stages/claim.ts",
    find: "renewer.attach(delivery.receipt, { key, fence }, startedAt);",
    replace: "void renewer;",
    checker: "liveness",
  },
  {
    name: "dedup-window-short",
    mistake: "A deduplication id is forgotten a millisecond before its five minutes are over.",
    file: "src/broker/model/sqs/queue.ts",
    find: "this.dedup.expire(epochMs(now - SQS_DEDUP_WINDOW_MS));",
    replace: "this.dedup.expire(epochMs(now - SQS_DEDUP_WINDOW_MS + 1));",
    checker: "dedup-window",
  },
  {
    name: "dedup-window-long",
    mistake: "A deduplication id is remembered for a millisecond after its five minutes are over.",
    file: "src/broker/model/sqs/queue.ts",
    find: "this.dedup.expire(epochMs(now - SQS_DEDUP_WINDOW_MS));",
    replace: "this.dedup.expire(epochMs(now - SQS_DEDUP_WINDOW_MS - 1));",
    checker: "dedup-window",
  },
  {
    name: "timeout-taken-for-done",
    mistake: "A handler that timed out is committed, without any effects.",
    file: "src/ingest/stages/handle.ts",
    find: "attempt.close([]);\n        return judge(",
    replace:
      'attempt.close([]);\n        if (error instanceof DeadlinePassed) return { kind: "handled", ' +
      "effects: [], secrets: [] };\n        return judge(",
    checker: "effects-once",
  },
  {
    name: "missing-object-dropped",
    mistake: "A missing object is dropped, although the pipeline says to dead-letter it.",
    file: "src/ingest/stages/handle.ts",
    find: 'if (onMissing === "drop" && !forbidden)',
    replace: "if (!forbidden)",
    checker: "effects-once",
  },
  {
    name: "crash-not-counted",
    mistake: "An attempt whose process crashed is not counted.",
    file: "src/ledger/record-transitions.ts",
    find: 'return from.kind === "absent" || from.kind === "committed" ? 0 : from.attempts;',
    replace:
      'if (from.kind === "claimed") return from.attempts - 1;\n' +
      '  return from.kind === "absent" || from.kind === "committed" ? 0 : from.attempts;',
    checker: "attempts-counted",
  },
  {
    name: "given-back-counted",
    mistake: "A released attempt, which did not fail because of the record, is counted.",
    file: "src/ledger/record-transitions.ts",
    find: "commonFields(input, held, held.fence, held.attempts - 1); // R4",
    replace: "commonFields(input, held, held.fence, held.attempts); // R4",
    checker: "attempts-counted",
  },
];
