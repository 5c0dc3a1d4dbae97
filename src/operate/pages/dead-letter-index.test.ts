import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Note } from "../../ports/ledger.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { createDeadLetterIndex } from "./dead-letter-index.ts";

const SCOPE = { pipeline: "p", generation: 0 };
const T0 = 1_700_000_000_000;

function dossierNote(name: string, fingerprint: string, failedAt: number): Note {
  const times = { first_failed_at: failedAt, last_failed_at: failedAt };
  const body = JSON.stringify({ error_class: "schema", fingerprint, message: name, ...times });
  return { kind: "dossier", name, at: epochMs(failedAt), count: 1, body };
}

test("dead letters are grouped by cause, the most frequent first, newest failures first", async () => {
  const ledger = createMemoryLedger(systemPorts, {});
  await ledger.addNotes(SCOPE, [
    dossierNote("k1:a", "one", T0),
    dossierNote("k1:b", "two", T0 + 1),
    dossierNote("k1:c", "two", T0 + 2),
  ]);
  const index = createDeadLetterIndex({ clock: systemPorts.clock, ledger }, SCOPE);
  expect(index.peek()).toBeNull();
  const { groups, total, more } = await index.read();
  expect({ total, more }).toEqual({ total: 3, more: false });
  expect(groups.map(({ fingerprint }) => fingerprint)).toEqual(["two", "one"]);
  expect(groups[0]?.items.map(({ key }) => key)).toEqual(["k1:c", "k1:b"]);
  expect(groups[0]).toMatchObject({ message: "k1:c", firstFailedAt: T0 + 1 });
  expect(index.peek()).toEqual({ count: 3, more: false });
});

test("an index that reached its maximum says that there is more", async () => {
  const ledger = createMemoryLedger(systemPorts, {});
  for (let at = 0; at < 150; at += 1) {
    await ledger.addNotes(SCOPE, [dossierNote(`k1:${String(at).padStart(4, "0")}`, "one", T0)]);
  }
  const ports = { clock: systemPorts.clock, ledger };
  const some = createDeadLetterIndex(ports, SCOPE, undefined, 100);
  expect(await some.read()).toMatchObject({ total: 100, more: true });
  expect(some.peek()).toEqual({ count: 100, more: true });
  const all = createDeadLetterIndex(ports, SCOPE, undefined, 200);
  expect(await all.read()).toMatchObject({ total: 150, more: false });
});

test("while the first pass runs, the index has what was read and says that there is more", async () => {
  const notes = Array.from({ length: 150 }, (_, at) => {
    return dossierNote(`k1:${String(at).padStart(4, "0")}`, "one", T0 + at);
  });
  const ledger = createMemoryLedger(systemPorts, {});
  for (let at = 0; at < notes.length; at += 50) {
    await ledger.addNotes(SCOPE, notes.slice(at, at + 50));
  }
  const secondPage = Promise.withResolvers<void>();
  const slow = {
    ...ledger,
    async listNotes(...given: Parameters<typeof ledger.listNotes>) {
      if (given[2].after !== null) await secondPage.promise;
      return ledger.listNotes(...given);
    },
  };
  const index = createDeadLetterIndex({ clock: systemPorts.clock, ledger: slow }, SCOPE);
  expect(await index.read()).toMatchObject({ total: 100, more: true });
  secondPage.resolve();
  expect(await index.read()).toMatchObject({ total: 150, more: false });
});
