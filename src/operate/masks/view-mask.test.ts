import { expect, test } from "vitest";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { type Dossier, decodeDossier, encodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { type DeadLetterGroupView, deadLetterView } from "../pages/dead-letter-pages.ts";
import type { RecordHistory, RecordSummary } from "../pages/record-pages.ts";
import { holderClause, type TimeView } from "../pages/time-page.ts";
import { createMessageMask } from "./message-mask.ts";
import { createViewMask } from "./view-mask.ts";

const SECRET = "4000-1234-5678";
const KEY = "k1:dead";
const FAILURE = { errorClass: "schema", fingerprint: "f1", message: `no such card ${SECRET}` };
const { views } = createMessageMask(null, { mask: ["person.card"] });

/** A dead letter as the ledger keeps it. */
function stored(payload: JsonValue) {
  const dossier = {
    record_key: KEY,
    object: null,
    business_key: "bad-1",
    error_class: FAILURE.errorClass,
    fingerprint: FAILURE.fingerprint,
    message: FAILURE.message,
    stack: `Error: ${SECRET}`,
    payload,
    dead_letter: null,
  } as unknown as Dossier;
  return deadLetterView(decodeDossier(encodeDossier(dossier)));
}

const summary = { key: KEY, name: "bad-1", failure: FAILURE } as RecordSummary;
const groupOf = (payload: JsonValue) =>
  ({ id: "g", message: FAILURE.message, sample: stored(payload) }) as DeadLetterGroupView;
const historyOf = (payload: JsonValue) =>
  ({
    summary,
    timeline: [{ status: "failed", failure: FAILURE }],
    names: ["bad-1"],
    object: null,
    businessKey: "bad-1",
    partition: "orders",
    deadLetter: stored(payload),
    text: [`dead-lettered: schema: ${FAILURE.message}`],
  }) as unknown as RecordHistory;

const person = { card: SECRET };
const long = { person, note: "x".repeat(40_000) };
const notification = { Type: "Notification", Message: `card=${SECRET}` };

test.each<[what: string, payload: JsonValue]>([
  ["a payload that is cut, because it is long", long],
  ["a body that is a text", { body: `card=${SECRET}` }],
  ["a body that is a cut JSON text", { body: `{"person":{"card":"${SECRET}"` }],
  ["a body that is a JSON string", `card=${SECRET}`],
  ["the text in the notification of a topic", { body: JSON.stringify(notification) }],
])("%s is hidden, and so is every error about it (V3, V4)", (_what, payload) => {
  for (const shown of [
    views.deadLetter(stored(payload)),
    views.group(groupOf(payload)),
    views.record(historyOf(payload)),
  ]) {
    expect(JSON.stringify(shown)).not.toContain("4000");
    expect(JSON.stringify(shown)).toContain("***");
  }
  const { message, stack, key } = views.deadLetter(stored(payload));
  expect({ message, stack, key }).toEqual({ message: "***", stack: "***", key: KEY });
});

test("a JSON body is shown without its masked values, and so is the error about it (V3)", () => {
  const body = JSON.stringify({ id: 7, person, body: "of a letter" });
  for (const payload of [JSON.parse(body) as JsonValue, { body }]) {
    const shown = views.deadLetter(stored(payload));
    const content = { id: 7, person: { card: "***" }, body: "of a letter" };
    expect(shown.payload).toEqual("id" in (payload as object) ? content : { body: content });
    expect(shown.message).toBe("no such card ***");
  }
  expect(views.deadLetter(stored(null)).payload).toBeNull(); // It was withheld.
});

const timeOf = (partition: string) =>
  ({
    heldBy: holderClause({ kind: "watermark", eventTime: null, what: "orders" }, partition),
    partitions: [{ name: partition }],
    held: { items: [] },
  }) as unknown as TimeView;

test.each([
  ["businessKey", "Lovelace", "***"],
  ["object.key", "people/Lovelace/", "people/***"],
  ["object.bucket", "Lovelace/in/", "***/in/"],
  ["object", "people/Lovelace/", "***/***"],
  ["object.key", "people/", "people/"],
  ["object.key", "orders", "orders"],
])("with %s masked, no view of time names the partition %s (V2)", (path, partition, name) => {
  const mask = createViewMask([path]);
  expect(mask.time(timeOf(partition))).toMatchObject({
    heldBy: `the partition ${name} has not moved on`,
    partitions: [{ name }],
  });
  expect(mask.record({ ...historyOf(null), partition }).partition).toBe(name);
});

test("a console that others can reach hides errors as it hides bodies (V5)", () => {
  const hidden = createMessageMask(null, { exposed: true }).views;
  const payload = { person };
  const replay = { outcome: { failures: [{ uri: "s3://people/a", reason: FAILURE.message }] } };
  for (const shown of [
    hidden.deadLetter(stored(payload)),
    hidden.group(groupOf(payload)),
    hidden.summary(summary),
    hidden.record(historyOf(payload)),
    hidden.replay(replay as never),
  ]) {
    expect(JSON.stringify(shown)).not.toContain("4000");
  }
  expect(hidden.summary(summary)).toMatchObject({
    name: "bad-1",
    failure: { errorClass: "schema", fingerprint: "f1", message: "***" },
  });
  expect(hidden.record(historyOf(payload)).text).toEqual(["dead-lettered: schema: ***"]);
});

test("an error that was cut in a value is hidden, although its payload is known (V6)", () => {
  const cut = { ...FAILURE, message: "no such card 4000-1234…" };
  const dossier = { ...stored({ person }), message: cut.message };
  expect(JSON.stringify(views.deadLetter(dossier))).not.toContain("4000");
  const history = {
    ...historyOf({ person }),
    timeline: [{ status: "failed", failure: cut }],
    deadLetter: dossier,
    text: [`dead-lettered: schema: ${cut.message}`],
  } as unknown as RecordHistory;
  expect(JSON.stringify(views.record(history))).not.toContain("4000");
});
