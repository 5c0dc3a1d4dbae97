import { expect, test } from "vitest";
import {
  createStageWorld,
  type Delivered,
  memoryObjects,
  RUN_ID,
  type StageWorld,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { type SecretValues, withoutSecrets } from "../../core/encoding/secrets.ts";
import { systemPorts } from "../../platform/index.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { GovernanceError } from "../spec/handler-errors.ts";
import type { MessageInput, ObjectInput } from "../spec/pipeline-spec.ts";
import type { Claim } from "./claim.ts";
import { createHandleStage, type Handled } from "./handle.ts";

const SECRET = "passport-4711";

/** A text without the values that a failure may quote. */
function hidden(handled: Handled, text: string): string {
  return withoutSecrets(text, (handled as { secrets: SecretValues }).secrets);
}

function handle(
  world: StageWorld,
  { record, inFlight }: Delivered,
  objects: Parameters<typeof memoryObjects>[0] = {},
): Promise<Handled> {
  const rows = createRowReader(systemPorts);
  const ports = { ...world, objects: memoryObjects(objects), rows };
  const stage = createHandleStage(ports, { pipeline: world.pipeline, runId: RUN_ID });
  const startedAt = world.clock.now();
  const claim: Claim = { kind: "claimed", fence: null, attempt: 1, startedAt, input: ANY_INPUT };
  return stage.handle(record, claim, { lane: "live", watermark: null }, inFlight);
}

/** Handles one message in a pipeline with that `govern`. */
async function governMessage(govern: unknown, more: object = {}, payload: object = {}) {
  const given: unknown[] = [];
  const handler = ({ payload: shown }: MessageInput<unknown>) => void given.push(shown);
  await using world = createStageWorld({ spec: { govern, handler, ...more } });
  const handled = await handle(world, world.message("k", { note: SECRET, ...payload }));
  return { handled, given };
}

/** Handles a CSV of three rows whose second one has the secret. */
async function governRows(govern: unknown, more: object = {}) {
  const rows: unknown[] = [];
  const handler = async (file: ObjectInput<unknown>) => {
    for await (const row of file.rows()) rows.push(row);
  };
  await using world = createStageWorld({ bucket: "in", spec: { govern, handler, ...more } });
  const objects = { "a.csv": `id,note\n1,x\n2,${SECRET}\n3,y\n` };
  const handled = await handle(world, world.object("a.csv"), objects);
  return { handled, rows };
}

const refusesSecret = (_event: unknown, row?: { note: string }) =>
  row?.note === SECRET ? "refuse" : "allow";

test("an allowed message reaches the handler unchanged, whether govern is async or not", async () => {
  for (const govern of [() => "allow", async () => "allow"]) {
    const { handled, given } = await governMessage(govern);
    expect(handled.kind).toBe("handled");
    expect(given).toEqual([{ note: SECRET }]);
  }
});

test("a refused message never reaches the handler, and the error quotes nothing (G1, G4)", async () => {
  const { handled, given } = await governMessage(() => "refuse");
  expect(given).toEqual([]);
  expect(handled).toMatchObject({ kind: "failed", error: { errorClass: "governance" } });
  expect(JSON.stringify(handled)).not.toContain(SECRET);
});

test("a masked message reaches the handler without the values of mask (G3)", async () => {
  const { given } = await governMessage(() => "mask", { mask: ["payload.note"] }, { id: 1 });
  expect(given).toEqual([{ id: 1, note: "***" }]);
});

test.each<[string, unknown]>([
  ["undefined", () => undefined],
  ["true", () => true],
  ["a row", (_: unknown) => ({ note: SECRET })],
  ["a promise of an unknown word", async () => SECRET],
])("govern that returns %s fails the record as ungoverned, unquoted (G2)", async (_, govern) => {
  const { handled, given } = await governMessage(govern);
  expect(given).toEqual([]);
  expect(handled).toMatchObject({ kind: "failed", error: { errorClass: "ungoverned" } });
  expect(String((handled as { error: Error }).error.message)).not.toContain(SECRET);
});

test("an answer of mask in a pipeline without mask shows nothing to the handler (G3)", async () => {
  const { handled, given } = await governMessage(() => "mask");
  expect(given).toEqual([]);
  expect(handled).toMatchObject({ error: { errorClass: "ungoverned" } });
});

test("an error of govern fails the attempt with all values of the message as secrets (G4)", async () => {
  const govern = () => {
    throw new Error(`cannot judge ${SECRET}`);
  };
  const { handled, given } = await governMessage(govern);
  expect(given).toEqual([]);
  expect(handled).toMatchObject({ kind: "failed", error: { name: "Error" } });
  expect(hidden(handled, SECRET)).toBe("***");
});

test("a refused row ends the attempt before the handler gets the row (G1)", async () => {
  const { handled, rows } = await governRows(refusesSecret);
  expect(rows).toEqual([{ id: "1", note: "x" }]);
  expect(handled).toMatchObject({
    kind: "failed",
    error: { errorClass: "governance", message: "govern refused line 3" },
  });
});

test("a handler that catches the error of a refused row fails all the same (G2)", async () => {
  const handler = async (file: ObjectInput<unknown>) => {
    try {
      for await (const _ of file.rows());
    } catch {
      // A handler must not be able to overrule governance.
    }
  };
  const { handled } = await governRows(refusesSecret, { handler });
  expect(handled).toMatchObject({ kind: "failed", error: { errorClass: "governance" } });
});

test("rows are masked one by one, before the schema and the quarantine see them (G1, G3)", async () => {
  const govern = (_: unknown, row?: { note: string }) => (row?.note === SECRET ? "mask" : "allow");
  const validated: unknown[] = [];
  const validate = (value: unknown) => {
    validated.push(value);
    return (value as { id: string }).id === "2" ? { issues: [{ message: "no" }] } : { value };
  };
  const schema = { "~standard": { version: 1, vendor: "test", validate } };
  const { handled, rows } = await governRows(govern, {
    mask: ["note"],
    schema,
    onBadRow: "quarantine",
  });
  expect(rows).toHaveLength(2);
  expect(validated[1]).toEqual({ id: "2", note: "***" });
  expect(handled).toMatchObject({ kind: "handled", badRows: [{ row: { note: "***" } }] });
});

test("an event that is masked masks all its rows and hides its bytes (G5)", async () => {
  const govern = (_: unknown, row?: unknown) => (row === undefined ? "mask" : "allow");
  const { rows } = await governRows(govern, { mask: ["note"] });
  expect(rows).toEqual(["1", "2", "3"].map((id) => ({ id, note: "***" })));
  const handler = (file: ObjectInput<unknown>) => file.text();
  const { handled } = await governRows(govern, { mask: ["note"], handler });
  expect(handled).toMatchObject({ kind: "failed", error: { errorClass: "ungoverned" } });
});

test("retry.classify cannot turn a GovernanceError into another class", async () => {
  const { handled } = await governMessage(() => "allow", {
    retry: { classify: () => ({ errorClass: "other", retry: "backoff" }) },
    handler: () => {
      throw new GovernanceError(`found ${SECRET}`);
    },
  });
  expect(handled).toMatchObject({ error: { errorClass: "governance" } });
  expect(hidden(handled, SECRET)).toBe("***");
});
