import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { addMs, epochMs, seconds } from "../core/units.ts";
import type { RecordState } from "../ports/record.ts";
import { fastCommit } from "./fast-commit.ts";
import type { RecordItem } from "./ledger-calls.ts";
import { stepCall } from "./record-call.ts";
import { encodeEntries } from "./record-log.ts";
import { asRecordKey, fenceOf, RETENTION_MS_DEFAULT as retentionMs } from "./record-state.ts";
import { toColumns } from "./rows/record-columns.ts";

const key = asRecordKey("a");
const T0 = epochMs(1_700_000_000_000);

const commitOf = (fence: number, effects: string | null): RecordItem => ({
  key,
  object: null,
  writes: [],
  note: null,
  call: { call: "commit", fence: fenceOf(fence), digest: "d", effects },
});

test("a fast commit writes the same as the transition", () => {
  const anyEffects = fc.option(fc.string());
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), anyEffects, (fence, effects) => {
      const now = addMs(T0, seconds(1));
      const item = commitOf(fence, effects);
      const record: RecordState = {
        kind: "claimed",
        fence: fenceOf(fence),
        attempts: 2,
        owner: "w",
        seenAt: T0,
        changedAt: T0,
        expiresAt: addMs(T0, retentionMs),
        leaseUntil: now,
      };
      const at = { now, expiry: now };
      const from = { key, record, storedInput: ANY_INPUT, object: null, ref: null };
      const step = stepCall({ ...from, ...at, retentionMs }, item.call);
      if (step.record === null)
        throw new Error("the transition rejected the commit of a held claim");
      const { digest, detail } = toColumns(step.record);
      const added = encodeEntries(step.entries);
      const { fence: stored } = step.record;
      expect(fastCommit(item, now)).toEqual({ key, fence: stored, digest, detail, added });
    }),
  );
});

test("commits with an object or sink writes, and all other calls, take the slow path", () => {
  const plain = commitOf(1, null);
  const object = { bucket: "b", key: "k", sequencer: "01" };
  const writes = [{ statement: "INSERT", params: [] }];
  expect(fastCommit({ ...plain, object }, T0)).toBeNull();
  expect(fastCommit({ ...plain, writes }, T0)).toBeNull();
  expect(fastCommit({ ...plain, call: { call: "release", fence: fenceOf(1) } }, T0)).toBeNull();
});
