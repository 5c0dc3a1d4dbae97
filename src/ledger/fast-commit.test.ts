import fc from "fast-check";
import { expect, test } from "vitest";
import { addMs, epochMs, seconds } from "../core/units.ts";
import type { RecordState } from "../ports/record.ts";
import { fastCommit } from "./fast-commit.ts";
import type { RecordItem } from "./ledger-calls.ts";
import { stepCall } from "./record-call.ts";
import { toColumns } from "./record-columns.ts";
import { encodeEntries } from "./record-log.ts";
import { asRecordKey, fenceOf, RETENTION_MS_DEFAULT as retentionMs } from "./record-state.ts";

const key = asRecordKey("a");
const T0 = epochMs(1_700_000_000_000);

const commitOf = (fence: number, effects: string | null): RecordItem => ({
  key,
  object: null,
  writes: [],
  note: null,
  call: { call: "commit", fence: fenceOf(fence), digest: "d", effects },
});

test("a plain commit writes what the law writes over the claim that it holds", () => {
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
      const input = { key, record, object: null, sequencer: null, now, retentionMs };
      const law = stepCall(input, item.call);
      if (law.record === null) throw new Error("the law refused a commit of a held claim");
      const { digest, detail } = toColumns(law.record);
      const added = encodeEntries(law.entries);
      const { fence: kept } = law.record;
      expect(fastCommit(item, now)).toEqual({ key, fence: kept, digest, detail, added });
    }),
  );
});

test("whatever an object or a sink has a say in, and every other call, is left to the law", () => {
  const plain = commitOf(1, null);
  const object = { bucket: "b", key: "k", sequencer: "01" };
  const writes = [{ statement: "INSERT", params: [] }];
  expect(fastCommit({ ...plain, object }, T0)).toBeNull();
  expect(fastCommit({ ...plain, writes }, T0)).toBeNull();
  expect(fastCommit({ ...plain, call: { call: "release", fence: fenceOf(1) } }, T0)).toBeNull();
});
