import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { epochMs } from "../../core/units.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { findTried, objectDigest } from "./tried-note.ts";

const SCOPE = { pipeline: "shop", generation: 0 };
const AT = epochMs(1_000);
const BATCH = 50;

test("all tried events of an object are found, however many there are, and no others (J2)", async () => {
  const ledger = createMemoryLedger({ clock: new ManualClock(AT) });
  const noteOf = (object: string, at: number, bucket = "in") => ({
    kind: "tried" as const,
    name: `${objectDigest(object)} k1:${String(at).padStart(4, "0")}`,
    at: AT,
    count: 1,
    body: JSON.stringify({ bucket }),
  });
  const many = Array.from({ length: 1_150 }, (_, at) => noteOf("a", at));
  const notes = [...many, noteOf("b", 0), noteOf("c", 0), noteOf("d", 0), noteOf("a", 9_000, "x")];
  for (let at = 0; at < notes.length; at += BATCH) {
    await ledger.addNotes(SCOPE, notes.slice(at, at + BATCH));
  }
  const inBucket = await findTried(ledger, SCOPE, { bucket: "in", key: "a" });
  expect(inBucket).toHaveLength(1_150);
  expect(inBucket.at(-1)).toEqual({ key: "k1:1149", bucket: "in" });
  expect(await findTried(ledger, SCOPE, { bucket: null, key: "a" })).toHaveLength(1_151);
  expect(await findTried(ledger, SCOPE, { bucket: null, key: "none" })).toEqual([]);
});
