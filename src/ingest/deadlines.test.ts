import { expect, test } from "vitest";
import { createManualClock, FAR_AHEAD } from "../../test/contracts/manual-clock.ts";
import { seconds } from "../core/units.ts";
import { createDeadlines } from "./deadlines.ts";

test("what ended is forgotten, though something that began before it goes on (L2)", () => {
  const deadlines = createDeadlines(createManualClock(FAR_AHEAD), seconds(900));
  const endSlow = deadlines.begin(() => undefined);
  for (let at = 0; at < 1_000; at += 1) deadlines.begin(() => undefined)();
  expect(deadlines.open).toBe(1);
  endSlow();
  expect(deadlines.open).toBe(0);
  deadlines.close();
});
