// Whatever the order, the duplicates and the paths of events to the sink, its table matches the
// simplest model: the newest event of each object counts, and the latest writer of each row. Each
// planted bug must break that.

import { rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SinkWrite } from "../../src/core/sink-write.ts";
import { fenceOf } from "../../src/ledger/record-state.ts";
import { createIdempotentTableSink } from "../../src/sinks/table/index.ts";
import { originOf, specOf } from "../support/stores/table-sink-world.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import {
  anyEvents,
  anySteps,
  type Flaw,
  type HistoryOptions,
  model,
  TABLES,
  tableAfter,
  tableOf,
} from "./table-sink-model.ts";

const folder = useTemporaryFolder("sink-property");
let files = 0;
const freshPath = () => {
  files += 1;
  return join(folder, `${files}.db`);
};

const RUNS = 60;
/** Histories in which a planted bug must show. */
const BUG_RUNS = 400;

/** One message deletes a row and writes it again, staged: the row must be there. */
const DELETED_THEN_WRITTEN: [never, never] = [
  [
    {
      key: "k00",
      at: 0,
      effects: [
        { kind: "delete", table: "t", key: { id: "c" } },
        { kind: "upsert", table: "t", row: { id: "c", v: 0 } },
      ],
    },
  ] as never,
  [
    { which: 0, how: "stage" },
    { which: 0, how: "commit" },
  ] as never,
];

/** One message writes a row and deletes it, staged; an object deletes it too before the commit. */
const WRITTEN_THEN_DELETED: [never, never] = [
  [
    {
      key: "k71",
      at: 0,
      effects: [
        { kind: "upsert", table: "t", row: { id: "b", v: 0 } },
        { kind: "delete", table: "t", key: { id: "b" } },
      ],
    },
    {
      key: "k55",
      at: 0,
      object: "x",
      sequencer: "300",
      removed: false,
      effects: [{ kind: "delete", table: "t", key: { id: "b" } }],
    },
  ] as never,
  [
    { which: 0, how: "stage" },
    { which: 1, how: "direct" },
    { which: 0, how: "commit" },
  ] as never,
];

function histories(options: HistoryOptions = {}) {
  return fc.asyncProperty(anyEvents, anySteps, async (events, steps) => {
    expect(await tableAfter(freshPath(), events, steps, options)).toEqual(model(events));
  });
}

test("any interleaving of claims, stages, commits and duplicates through a ledger ends in the same table", async () => {
  await fc.assert(histories(), {
    numRuns: RUNS,
    examples: [DELETED_THEN_WRITTEN, WRITTEN_THEN_DELETED],
  });
});

/** Changes the text of every statement of a tree. */
function textFlaw(change: (statement: string) => string): Flaw {
  const changed = (write: SinkWrite): SinkWrite => ({
    ...write,
    statement: change(write.statement),
    ...(write.ifRows && { ifRows: write.ifRows.map(changed) }),
  });
  return (writes) => writes.map(changed);
}

describe("a planted bug breaks the property:", () => {
  const nothing = "SELECT 1 WHERE false";
  const bugs: readonly (readonly [string, HistoryOptions])[] = [
    [
      "the winner is chosen by arrival",
      { flaw: textFlaw((text) => text.replace(/ORDER BY o\._tg_time DESC.*?\) AS/s, ") AS")) },
    ],
    [
      "a removal forgets the runner-up",
      {
        flaw: textFlaw((text) =>
          /^INSERT INTO "t" AS t .* FROM "_tg_t_others" AS o/s.test(text)
            ? text.replace("WHERE c._tg_open AND", "WHERE false AND c._tg_open AND")
            : text,
        ),
      },
    ],
    [
      "rows that an object no longer has stay",
      { flaw: textFlaw((text) => (/^UPDATE .* SET _tg_open = true/s.test(text) ? nothing : text)) },
    ],
    [
      "an older message overwrites a newer one",
      { flaw: textFlaw((text) => text.replaceAll(/\(excluded[^)]*\) >=? \([^)]*\)/g, "true")) },
    ],
  ];
  test.each(bugs)("%s", async (_, options) => {
    const { failed } = await fc.check(histories(options), {
      numRuns: BUG_RUNS,
      endOnFailure: true,
    });
    expect(failed).toBe(true);
  });
});

test("any order and repetition of calls with any fences ends in the same table", async () => {
  const anyCalls = fc.array(fc.record({ which: fc.nat(7), fence: fc.nat(20) }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(anyEvents, anyCalls, async (events, calls) => {
      const path = freshPath();
      const sink = createIdempotentTableSink(specOf(TABLES, { database: path }));
      await sink.prepare();
      const everything = [...events.keys()].map((which) => ({ which, fence: 10 }));
      for (const { which, fence } of [...calls, ...everything]) {
        const event = events[which];
        if (event === undefined) continue;
        const origin = { ...originOf(event), fence: fenceOf(fence) };
        await sink.apply(event.effects ?? [], origin, new AbortController().signal);
      }
      await sink.close();
      expect(tableOf(path)).toEqual(model(events));
      rmSync(path);
    }),
    { numRuns: RUNS },
  );
});
