import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { useTemporaryFolder } from "../../test/support/temporary-folder.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { NoteKind } from "../ports/ledger.ts";
import type { ReplayPlan } from "../replay/plan-replay.ts";
import { registerReplay } from "../replay/replay-registry.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { createMemoryOutbox } from "../stores/memory/outbox.ts";
import { openOperator } from "./open-operator.ts";
import { type SourceOptions, Sources } from "./sources.ts";

const data = useTemporaryFolder("sources");

const PLAN = { run: "a run", inputs: [], request: {} } as unknown as ReplayPlan;

/** A ledger with a record in each of these generations of the pipeline "p". */
async function ledgerWith(...generations: readonly number[]) {
  const clock = new ManualClock();
  const ledger = createMemoryLedger({ clock });
  const now = clock.now();
  const addRecord = async (generation: number, pipeline = "p") => {
    const scope = { pipeline, generation };
    const key = recordKey(scope, "a record");
    const attempt = { key, owner: "test", receivedAt: now, startedAt: now, digest: "d" };
    await ledger.commitDirect(scope, [{ ...attempt, input: ANY_INPUT }]);
  };
  for (const generation of generations) await addRecord(generation);
  return {
    addRecord,
    addNote: (generation: number, kind: NoteKind) =>
      ledger.addNotes({ pipeline: "p", generation }, [
        { kind, name: "a note", at: now, count: 1, body: "{}" },
      ]),
    replay: (generation: number) => {
      const scope = { pipeline: "p", generation };
      return registerReplay({ ledger, clock }, scope, PLAN, { missing: [], file: null });
    },
    chosen: async (about?: NoteKind, options: SourceOptions = {}) =>
      (await new Sources({ ledger, ...options }).scope(about)).generation,
  };
}

test("the generation of a replay is not a candidate for actions, unless it is named (S4)", async () => {
  const { replay, addNote, chosen } = await ledgerWith(0);
  expect((await replay(0)).generation).toBe(1);
  expect(await chosen("dossier")).toBe(0);
  await addNote(1, "dossier");
  expect(await chosen("dossier")).toBe(0);
  expect(await chosen()).toBe(0);
  expect(await chosen("dossier", { generation: 1 })).toBe(1);
});

test.each(["dossier", "held", "quarantined"] as const)(
  "of several generations, an action chooses the only one with its %s notes (S4)",
  async (about) => {
    const { addNote, chosen } = await ledgerWith(0, 3);
    expect(await chosen(about)).toBe(0);
    await addNote(3, about);
    expect(await chosen(about)).toBe(3);
    await addNote(0, about);
    const several = "p has several generations (0, 3); choose one with generation";
    await expect(chosen(about)).rejects.toThrow(several);
    expect(await chosen(about, { pipeline: "p" })).toBe(0);
    expect(await chosen(about, { generation: 3 })).toBe(3);
  },
);

test("an action that is not about notes does not choose between generations (S4)", async () => {
  const { chosen } = await ledgerWith(0, 3);
  await expect(chosen()).rejects.toThrow("several generations (0, 3)");
});

test("an action does not choose between pipelines (S4)", async () => {
  const { addRecord, addNote, chosen } = await ledgerWith(0);
  await addRecord(0, "q");
  await addNote(0, "dossier");
  await expect(chosen("dossier")).rejects.toThrow("the ledger has several pipelines (p, q)");
});

test("an open ledger and outbox are of the data folder that is named with them (S1)", async () => {
  const clock = new ManualClock();
  const open = { ledger: createMemoryLedger({ clock }), outbox: createMemoryOutbox({ clock }) };
  const entry = { endpoint: "http://127.0.0.1:1", pid: process.pid };
  writeFileSync(join(data, "endpoint.json"), JSON.stringify(entry));
  expect((await new Sources({ ...open, data }).server()).cloud?.endpoint).toBe(entry.endpoint);
  expect((await new Sources(open).server()).cloud).toBe(null);
});

test("an open ledger names no outbox: jobs and the relay refuse it without one", async () => {
  const clock = new ManualClock();
  const ledger = createMemoryLedger({ clock });
  const queue = "any";
  const { jobs, outbox } = openOperator({ ledger, pipeline: "p", queue });
  const refusal = { code: "TG_CONFIG_INVALID", message: expect.stringContaining("pass outbox") };
  await expect(jobs.find("any")).rejects.toMatchObject(refusal);
  await expect(outbox.stats()).rejects.toMatchObject(refusal);
  const given = openOperator({ ledger, queue, outbox: createMemoryOutbox({ clock }) });
  expect((await given.outbox.stats()).target).toBe(queue);
});

test("an opening that failed is tried again by the next call (S2)", async () => {
  const ledger = `sqlite:${join(data, "later.db")}`;
  await using sources = new Sources({ ledger });
  await expect(sources.reader()).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  await expect(sources.writer()).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  await sources.createLedger(false);
  const writer = await sources.writer();
  expect(await writer.stats()).toEqual([]);
  expect(await sources.reader()).toBe(writer);
  expect(await sources.writer()).toBe(writer);
});

test("a cloud that does not answer is looked for again by the next call (S2)", async () => {
  const file = join(data, "endpoint.json");
  writeFileSync(file, JSON.stringify({ endpoint: "http://127.0.0.1:1", pid: process.pid }));
  const sources = new Sources({ data });
  expect((await sources.server()).cloud?.failure).toContain("did not answer");
  rmSync(file);
  const server = await sources.server();
  expect(server.cloud).toBe(null);
  expect(await sources.server()).toBe(server);
});

test("options that do not fit are refused with a sentence that is true", async () => {
  const ledger = createMemoryLedger({ clock: new ManualClock() });
  const absent = new Sources({ ledger, generation: 3 });
  await expect(absent.scope()).rejects.toMatchObject({
    message: "the ledger has no pipeline yet",
    hint: expect.stringMatching(/^Check that this is the ledger you mean/),
  });
  const { chosen } = await ledgerWith(1, 2);
  const other = { pipeline: undefined, generation: 3 };
  await expect(chosen("dossier", other)).rejects.toThrow(
    "no pipeline of the ledger fits; name the",
  );
  const noDeadLetters = new Sources({ ledger, queue: "any", deadLetterQueue: null });
  await expect(noDeadLetters.queues()).rejects.toThrow(
    "only an open queue has no deadLetterQueue (null): pass both by name, or both open",
  );
});
