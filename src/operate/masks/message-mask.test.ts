import { expect, test } from "vitest";
import { HIDDEN_BODY } from "../../core/encoding/secrets.ts";
import { pipeline } from "../../ingest/spec/define-pipeline.ts";
import { createMessageMask } from "./message-mask.ts";

const SECRET = "4000-1234-5678";
const message = (body: string) => ({
  messageId: "m1",
  body,
  attributes: { note: `card ${SECRET}` },
  groupId: null,
  sentAt: 0 as never,
  receiveCount: 0,
});
const order = JSON.stringify({ id: "7", person: { card: SECRET }, text: `paid by ${SECRET}` });
const notification = JSON.stringify({ Type: "Notification", Message: order });
const mask = createMessageMask(null, { mask: ["person.card"], exposed: true });

test("without a pipeline, a mask hides its value at every level and where it is quoted (M2, M3)", () => {
  for (const body of [order, notification, JSON.stringify([{ detail: JSON.parse(order) }])]) {
    const shown = mask.show(message(body));
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(shown.body).toContain('"id":"7"');
    expect(shown.attributes.note).toBe("card ***");
  }
  expect(mask.show(message(`card=${SECRET}`)).body).toBe(HIDDEN_BODY);
});

test("a console that others can reach hides bodies without masks, and says how to show them (M4)", () => {
  const shown = createMessageMask(null, { exposed: true }).show(message(order));
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(shown.body).toContain("start it with --mask PATHS");
  expect(createMessageMask(null).show(message(order)).body).toBe(order);
  const withFile = createMessageMask({ mask: [], source: { own: null } } as never, {
    exposed: true,
  });
  expect(withFile.show(message(order)).body).toBe(order);
});

test("masks of the console apply to dead letters and to what they quote (M5)", () => {
  const view = {
    key: "k1:dead",
    object: { bucket: "orders", key: "in/7.json" },
    message: `no such card ${SECRET}`,
    stack: `Error: ${SECRET}`,
    payload: JSON.parse(order),
  } as never;
  const shown = mask.views.deadLetter(view);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(shown).toMatchObject({ key: "k1:dead", payload: { id: "7", person: { card: "***" } } });
  expect(createMessageMask(null).views.deadLetter(view)).toBe(view);
  const hidden = createMessageMask(null, { exposed: true }).views.deadLetter(view);
  expect(hidden.payload).toContain("--mask PATHS");
});

test("a body that is not JSON is hidden by masks of the console, also with a pipeline (M1)", () => {
  const body = `card=${SECRET}`;
  const notification = JSON.stringify({ Type: "Notification", Message: body });
  expect(mask.show(message(notification)).body).toBe(HIDDEN_BODY);
  const of = (decode: "json" | "text") =>
    pipeline({ name: "o", source: { queue: "o", decode, key: () => "7" }, handler() {} } as never);
  const own = { mask: ["card"] };
  for (const decode of ["json", "text"] as const) {
    expect(createMessageMask(of(decode), own).show(message(body)).body).toBe(HIDDEN_BODY);
    expect(createMessageMask(of(decode)).show(message(body)).body).toBe(body);
  }
  const shown = createMessageMask(of("json"), own).show(message(JSON.stringify({ card: SECRET })));
  expect(shown.body).toBe('{"card":"***"}');
});
