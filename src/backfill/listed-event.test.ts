import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { anyInput } from "../../test/support/stores/any-input.ts";
import { epochMs } from "../core/units.ts";
import type { RecordKey } from "../ports/record.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { eventOf, pastsOf } from "./listed-event.ts";

const SCOPE = { pipeline: "p", generation: 0 };
const ETAG = "d41d8cd98f00b204e9800998ecf8427e";
const listed = (key: string) =>
  eventOf("b", {
    key,
    versionId: null,
    etag: ETAG,
    size: 1,
    lastModified: epochMs(1),
    isLatest: true,
  });

/** A ledger with failed events of these objects; it counts how often it is listed. */
async function ledgerOf(keys: readonly string[]) {
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const ledger = createMemoryLedger({ clock });
  const state = { lists: 0, read: 0 };
  for (const [at, key] of keys.entries()) {
    const object = { bucket: "b", key, versionId: null, etag: ETAG, size: 1, sequencer: "01" };
    await ledger.fail(SCOPE, [
      {
        key: `k${at}` as RecordKey,
        fence: null,
        owner: "w",
        receivedAt: clock.now(),
        input: anyInput({ kind: "object", object }),
        permanent: true,
        failure: { errorClass: "handler", fingerprint: "f", message: "no" },
      },
    ]);
  }
  const counted = {
    ...ledger,
    async listRecords(...call: Parameters<typeof ledger.listRecords>) {
      state.lists += 1;
      const page = await ledger.listRecords(...call);
      state.read += page.records.length;
      return page;
    },
  };
  return { ledger: counted, state };
}

test("the records of a page of objects are read together (V3)", async () => {
  const { ledger, state } = await ledgerOf(["a", "a/1", "c", "c0", "z"]);
  const events = ["c", "a", "b", "a/1"].map(listed);
  expect(await pastsOf(ledger, SCOPE, events)).toEqual(["noticed", "noticed", null, "noticed"]);
  expect(state).toEqual({ lists: 1, read: 3 });
  expect(await pastsOf(ledger, SCOPE, [])).toEqual([]);
});

test("objects among very many others in the ledger are found by their own keys (V3)", async () => {
  const others = Array.from({ length: 3_500 }, (_, at) => `m${String(at).padStart(5, "0")}`);
  const { ledger, state } = await ledgerOf(["a", ...others, "z"]);
  const events = ["a", "m00000", "n", "z", "z1"].map(listed);
  const pasts = await pastsOf(ledger, SCOPE, events);
  expect(pasts).toEqual(["noticed", "noticed", null, "noticed", null]);
  expect(state).toEqual({ lists: 6, read: 3_001 }); // Three pages, then one read per object.
});
