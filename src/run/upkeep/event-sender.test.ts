import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { turns } from "../../../test/support/stage-world.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import {
  CLOSE_MS,
  createEventSender,
  EVENTS_MAX,
  SEND_TRIES,
  type SendEvent,
} from "./event-sender.ts";

function senderWith(send: SendEvent, clock = new ManualClock()) {
  const counts = { lost: 0 };
  const telemetry = {
    ...SILENT,
    count: (_: string, by = 1) => {
      counts.lost += by;
    },
  };
  const sender = createEventSender({ clock, telemetry }, { send, lostMetric: "lost" });
  return { sender, counts, clock };
}

test("events arrive in order, and a failed one is tried again first (E2)", async () => {
  const arrived: string[] = [];
  let fails = 2;
  const clock = new ManualClock(undefined, { sleepAdvances: true });
  const { sender, counts } = senderWith(async (event) => {
    fails -= 1;
    if (fails >= 0) throw new Error("down");
    arrived.push(event);
  }, clock);
  sender.add("start");
  sender.add("end");
  await turns();
  expect(arrived).toEqual(["start", "end"]);
  expect(counts.lost).toBe(0);
});

test("an endpoint that is down costs a count per event, never an error (E1)", async () => {
  let tries = 0;
  const clock = new ManualClock(undefined, { sleepAdvances: true });
  const { sender, counts } = senderWith(() => {
    tries += 1;
    return Promise.reject(new Error("refused"));
  }, clock);
  sender.add("start");
  await turns(50);
  expect({ tries, lost: counts.lost }).toEqual({ tries: SEND_TRIES, lost: 1 });
});

test("an endpoint that never answers holds at most EVENTS_MAX events in memory (E1)", async () => {
  const { sender, counts } = senderWith(() => new Promise(() => undefined));
  for (let at = 0; at < EVENTS_MAX + 11; at += 1) sender.add(String(at));
  await turns();
  expect(counts.lost).toBe(10);
});

test("closing waits no longer than CLOSE_MS, and counts what was not sent (E3)", async () => {
  const { sender, counts, clock } = senderWith(() => new Promise(() => undefined));
  sender.add("start");
  sender.add("end");
  const closing = sender.close();
  await turns();
  clock.advance(CLOSE_MS);
  await closing;
  expect(counts.lost).toBe(1);
});
