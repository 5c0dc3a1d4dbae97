// Planted bugs: mistakes that systems of this kind have made, each in one place of this code.

import type { PlantedBug } from "./planted-bug.ts";

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "time-of-this-attempt",
    mistake: "A retry runs at the event time of its own attempt, not at the recorded one.",
    file: "src/ingest/stages/claim.ts",
    find: "const recorded = { ...input, lane, eventTime }; // C8",
    replace: "const recorded = { ...input, lane };",
    checker: "same-time-and-random",
  },
  {
    name: "random-of-the-attempt",
    mistake: "Random values are derived from the attempt, so a retry gets others.",
    file: "src/ingest/stages/handle.ts",
    find: "const fixed = fixedContext(pipeline, record, claim);",
    replace:
      "const seed = String(claim.attempt);\n" +
      "      const frozen = { ...pipeline.frozen, seed };\n" +
      "      const fixed = fixedContext({ ...pipeline, frozen }, record, claim);",
    checker: "same-time-and-random",
  },
  {
    name: "random-of-the-run",
    mistake: "Random values are derived from the run, so a retry after a restart gets others.",
    file: "src/ingest/stages/handle.ts",
    find: "const fixed = fixedContext(pipeline, record, claim);",
    replace:
      "const frozen = { ...pipeline.frozen, seed: runId };\n" +
      "      const fixed = fixedContext({ ...pipeline, frozen }, record, claim);",
    checker: "same-time-and-random",
  },
  {
    name: "refused-payload-in-dead-letter",
    mistake: "The dead letter of a refused message is the message itself, payload included.",
    file: "src/ingest/dead-letters/dead-letter.ts",
    find: "if (dossier.withheld === true && !isWithheld(delivery)) {",
    replace: "if (dossier.withheld === true && isWithheld(delivery)) {",
    checker: "refused-stays-out",
  },
  {
    name: "held-before-governed",
    mistake: "A message that is too late is held with its payload before governance is asked.",
    file: "src/ingest/steps/govern.ts",
    find: "failure === null && !isTooLate;",
    replace: "failure === null;",
    checker: "refused-stays-out",
  },
  {
    name: "refusal-quotes-the-value",
    mistake: "The text of a refusal is stored as it is, although it quotes the refused value.",
    file: "src/ingest/stages/handle.ts",
    find: "secrets.add(values);",
    replace: "secrets.add(values.slice(values.length));",
    checker: "refused-stays-out",
  },
  {
    name: "ack-before-commit",
    mistake: "A record counts as committed while its commit is still in flight.",
    file: "src/ingest/steps/commit.ts",
    find: "const committed = await commit(prepared, claim, inFlight);",
    replace:
      'const committed: CommitOutcome = { kind: "committed" };\n' +
      "    void commit(prepared, claim, inFlight);",
    checker: "ack-after-commit",
  },
  {
    name: "stale-event-leaves-its-record",
    mistake: "A stale event is acknowledged, but its unfinished record stays in the ledger.",
    file: "src/ledger/start-attempt.ts",
    find: 'if (from.kind === "absent" || from.kind === "parked") return refusal;',
    replace: "if (input !== null) return refusal;",
    checker: "records-end",
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
    name: "busy-counted-as-outage",
    mistake: "A record that another process has locked counts as a ledger that is down.",
    file: "src/ingest/steps/refused.ts",
    find: 'return { kind: "later", delayMs, why: "busy", blames: "record" };',
    replace: 'return { kind: "later", delayMs, why: "busy", blames: "ledger" };',
    checker: "locks-stay-local",
  },
  {
    name: "claim-without-expiry",
    mistake: "A claim whose owner crashed never expires.",
    file: "src/ledger/start-attempt.ts",
    find: 'if (from.kind === "claimed" && isLeaseLive(from.leaseUntil, now)) {',
    replace: 'if (from.kind === "claimed") {',
    checker: "liveness",
  },
  {
    name: "any-lease-believed",
    mistake: "A claim of a crashed consumer whose clock was days ahead is held for days.",
    file: "src/ledger/record-state.ts",
    find: "return leaseUntil > now && leaseUntil <= addMs(now, LEASE_MS_MAX);",
    replace: "return leaseUntil > now && addMs(now, LEASE_MS_MAX) > now;",
    checker: "liveness",
  },
  {
    name: "expired-by-the-wall-clock-alone",
    mistake: "A clock that leapt by days expires records and messages at once.",
    file: "src/core/store-clock.ts",
    find: "if (system - steady > CLOCK_LEAP_MS && !this.#believes) this.#add(steady, system);",
    replace: "if (system < 0) this.#add(steady, system);",
    checker: "effects-once",
  },
  {
    name: "effect-before-claim",
    mistake: "A sink gets effects under an invented fence, before anything is in the ledger.",
    file: "src/ingest/running/consumer-parts.ts",
    find: 'return lease === "receipt" && sink?.mode !== "idempotent";',
    replace: 'return lease === "receipt";',
    checker: "write-ahead",
  },
  {
    name: "receipt-without-a-look",
    mistake: "A first delivery runs without asking the ledger for its record.",
    file: "src/ingest/stages/claim.ts",
    find: "if (!(await hasRecord(key))) {",
    replace: "if (hasRecord !== undefined) {",
    checker: "no-run-after-commit",
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
    find: "const sent = await withinSpan(span, () =>",
    replace:
      'const early = { queue: deadLetters.name, message_id: "", sent_at: clock.now() };\n' +
      "    const text = encodeDossier({ ...dossier, dead_letter: { ...early, fence } });\n" +
      '    const noted = { kind: "dossier", name: record.key, at: writtenAt, count: 0 } as const;\n' +
      "    await ledger.addNotes(this.#options.scope, [{ ...noted, body: text }]);\n" +
      "    const sent = await withinSpan(span, () =>",
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
    name: "keys-by-message-id",
    mistake: "A message in the user's own format is keyed by its message id, not by its body.",
    file: "src/ingest/stages/decode-own.ts",
    find: "const called = call(() => key(body as never));",
    replace: "const called = call(() => delivery.messageId);",
    checker: "effects-once",
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
    name: "input-of-previous-record",
    mistake: "The input of a record is made from the record before it.",
    file: "src/ingest/stages/record-input.ts",
    find: "  return (record, inFlight) => {\n    const { delivery, trace } = inFlight;",
    replace:
      "  let previous: WorkRecord | null = null;\n" +
      "  return (given, inFlight) => {\n" +
      "    const record = previous ?? given;\n" +
      "    previous = given;\n" +
      "    const { delivery, trace } = inFlight;",
    checker: "input-names-event",
  },
  {
    name: "watermark-free-late-drop",
    mistake: "Records older than a minute by the consumer's clock are dropped as late.",
    file: "src/ingest/steps/event-time.ts",
    find: "watermark.observe(timed);",
    replace:
      "if (claim.startedAt - timed.record.eventTime > 60_000) {\n" +
      '    return { kind: "done", how: "dropped" };\n' +
      "  }\n" +
      "  watermark.observe(timed);",
    checker: "no-loss",
  },
  {
    name: "counter-not-durable",
    mistake: "The broker stores its message counter as used so far, not as far as it is reserved.",
    file: "src/broker/engine/sequence-reserve.ts",
    find: 'changes.push({ kind: "set-sequence", seq: this.#through });',
    replace: 'changes.push({ kind: "set-sequence", seq: sequence });',
    checker: "fifo-order",
  },
  {
    name: "fence-from-the-clock-alone",
    mistake: "A fence is the wall clock, which may stand still or go back.",
    file: "src/ledger/start-attempt.ts",
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
    find: "const reached = subtractMs(least.latest, state.outOfOrderMs);",
    replace: "const reached = least.latest;",
    checker: "watermark-monotone",
  },
  {
    name: "watermark-decides-before-it-is-stored",
    mistake: "A lane is decided by a watermark that a crash takes back.",
    file: "src/ingest/running/watermark-tracker.ts",
    find: "const observed = { ...observeAll(this.#own, [...this.#waiting.values()]), watermark };",
    replace:
      "const observed = observeAll(this.#own, [...this.#waiting.values()]);\n" +
      "    if (watermark === undefined) throw new Error();",
    checker: "lane-decided-once",
  },
  {
    name: "lane-decided-at-every-attempt",
    mistake: "A retry gets the lane of the present watermark, not the recorded one.",
    file: "src/ingest/stages/claim.ts",
    find: "const recorded = { ...input, lane, eventTime };",
    replace: "const recorded = { ...input, lane: lane === null ? lane : input.lane, eventTime };",
    checker: "lane-decided-once",
  },
  {
    name: "complete-in-spite-of-dead-letters",
    mistake: "Dead-lettered and held records do not hold completeUpTo back.",
    file: "src/ingest/late/complete-up-to.ts",
    find: 'const UNSETTLED = ["claimed", "released", "failed", "parked"] as const;',
    replace: 'const UNSETTLED = ["claimed", "released", "failed"] as const;',
    checker: "complete-up-to",
  },
  {
    name: "complete-in-spite-of-the-queue",
    mistake: "Messages that wait in the queue do not hold completeUpTo back.",
    file: "src/ingest/late/complete-up-to.ts",
    find: "if (oldest !== null) holders.push(oldest);",
    replace: "if (oldest === null) holders.length = 0;",
    checker: "complete-up-to",
  },
  {
    name: "complete-in-spite-of-hidden-messages",
    mistake: "A hidden message that no process reports does not hold completeUpTo back on SQS.",
    file: "src/ingest/late/complete-up-to.ts",
    find: "if (hidden > accountedFor) {",
    replace: "if (hidden > accountedFor && looks.length === 0) {",
    checker: "complete-up-to",
  },
  {
    name: "complete-in-spite-of-retries",
    mistake: "A record in retry does not hold completeUpTo back on SQS without lists.",
    file: "src/ingest/late/complete-up-to.ts",
    find: "if (returned.oldest !== null) {",
    replace: "if (returned.oldest !== null && looks.length === 0) {",
    checker: "complete-up-to",
  },
  {
    name: "held-copy-removed-before-sent",
    mistake: "A release removes the only copy of a held message before the queue has it.",
    file: "src/ingest/late/release.ts",
    find: "await ledger.reopen(scope, [key]);",
    replace:
      "await ledger.reopen(scope, [key]);\n" +
      "    const gone: HeldNote = { ...released, sent_at: now, message: null, parts: null };\n" +
      "    await ledger.addNotes(scope, [heldNote(gone, now)]);",
    checker: "held-not-lost",
  },
  {
    name: "late-queue-believed",
    mistake: "A record counts as sent to the late queue although the queue refused it.",
    file: "src/ingest/stages/late.ts",
    find: 'if (sent.kind === "refused") {',
    replace: 'if (sent.kind === "refused" && note.sent_at !== null) {',
    checker: "held-not-lost",
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
    find: "this.dedup.expire(this.time.ago(now, SQS_DEDUP_WINDOW_MS)); // Q5",
    replace: "this.dedup.expire(epochMs(this.time.ago(now, SQS_DEDUP_WINDOW_MS) + 1));",
    checker: "dedup-window",
  },
  {
    name: "dedup-window-long",
    mistake: "A deduplication id is remembered for a millisecond after its five minutes are over.",
    file: "src/broker/model/sqs/queue.ts",
    find: "this.dedup.expire(this.time.ago(now, SQS_DEDUP_WINDOW_MS)); // Q5",
    replace: "this.dedup.expire(epochMs(this.time.ago(now, SQS_DEDUP_WINDOW_MS) - 1));",
    checker: "dedup-window",
  },
  {
    name: "timeout-taken-for-done",
    mistake: "A handler that timed out is committed, without any effects.",
    file: "src/ingest/stages/handle.ts",
    find: "void buffer.discard();\n        const content =",
    replace:
      'void buffer.discard();\n        if (error.name === "DeadlinePassed") ' +
      'return { kind: "handled", ...NO_EFFECTS, badRows: [], secrets, masked: null, ' +
      'input: { hash: null, noHash: "not-read" } };\n        const content =',
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
    file: "src/ledger/start-attempt.ts",
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
  {
    name: "ack-after-failed-sync",
    mistake: "A store acknowledges commits behind a failed sync, without renewing its file.",
    file: "src/sim/ports/sim-broker-store.ts",
    find: "if (!renewSimFile(disk, fault)) throw storeError();",
    replace: "",
    checker: "no-loss",
  },
  {
    name: "old-file-written-again",
    mistake: "A file whose sync failed is synced again instead of being copied into a new one.",
    file: "src/sim/ports/renew-file.ts",
    find: "const draft = disk.copy();",
    replace: "const draft = disk.file;",
    checker: "no-loss",
  },
  {
    name: "renamed-before-synced",
    mistake: "The new file takes the name of the old one before it is synced.",
    file: "src/sim/ports/renew-file.ts",
    find:
      '  if (fails("sync")) return false;\n' +
      "  disk.sync(draft);\n" +
      '  if (fails("rename")) return false;\n' +
      "  disk.rename(draft);\n",
    replace:
      '  if (fails("rename")) return false;\n' +
      "  disk.rename(draft);\n" +
      '  if (fails("sync")) return false;\n' +
      "  disk.sync(draft);\n",
    checker: "no-loss",
  },
  {
    name: "renamed-without-folder-sync",
    mistake: "The name of the new file is never made durable.",
    file: "src/sim/ports/renew-file.ts",
    find: "  disk.syncFolder();\n",
    replace: "",
    checker: "no-loss",
  },
  {
    name: "answer-before-new-file-is-durable",
    mistake: "The store answers again with a new file that nothing has synced.",
    file: "src/sim/ports/renew-file.ts",
    find: "  disk.sync(draft);\n",
    replace: "",
    checker: "no-loss",
  },
  {
    name: "failed-commit-acknowledged",
    mistake: "The broker answers the requests of a commit although the commit failed.",
    file: "src/broker/engine/engine.ts",
    find: "this.#fail(commit, failure.error);",
    replace:
      "for (const { operation, result } of commit.answered) operation.resolve(result);\n" +
      "      this.#fail(commit, failure.error);",
    checker: "no-loss",
  },
  {
    name: "batch-done-when-sent",
    mistake: "A job counts as done when its message is sent, before a consumer commits it.",
    file: "src/produce/jobs.ts",
    find: 'if (record === undefined) return row?.state === "refused" ? "failed" : "available";',
    replace: 'if (record === undefined) return row?.state === "sent" ? "completed" : "available";',
    checker: "batch-complete",
  },
  {
    name: "batch-done-when-dead-lettered",
    mistake: "A dead-lettered job counts as done, so that its batch is complete without it.",
    file: "src/produce/jobs.ts",
    find: 'case "parked":\n      return "failed";',
    replace: 'case "parked":\n      return "completed";',
    checker: "batch-complete",
  },
  {
    name: "objects-put-without-condition",
    mistake: "A put ignores that the key has an object, so that a delayed one replaces a newer.",
    file: "src/stores/memory/object-writer.ts",
    find: ": existing === undefined;",
    replace: ": bytes.length >= 0;",
    checker: "no-effect-under-older-fence",
  },
  {
    name: "pause-not-seen",
    mistake: "A consumer looks for a pause, and takes every answer for none.",
    file: "src/ingest/running/pause.ts",
    find: "    current = pause;\n",
    replace: "    current = pause?.by === NAME ? pause : null;\n",
    checker: "pause-honoured",
  },
  {
    name: "objects-older-attempt-replaces",
    mistake: "An attempt that lost its claim continues, and replaces what a later attempt wrote.",
    file: "src/sinks/objects/objects-sink.ts",
    find:
      "signal.throwIfAborted();\n" +
      '    const verdict = existing === undefined ? "write" : judge(existing, wanted, options);',
    replace: 'const verdict = "write" as "write" | "done" | "taken";',
    checker: "no-effect-under-older-fence",
  },
];
