// /_tidegate/clock: reads and advances the virtual clock, so that tests do not wait.

import { TidegateError } from "../../../core/errors.ts";
import { durationMs } from "../../../core/units.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";
import { adminError, adminReply } from "./admin-reply.ts";
import { type AdminCall, type AdminClock, adminRoute } from "./admin-route.ts";

/** A thousand years. */
const ADVANCE_MS_MAX = 31_557_600_000_000;

export const clock = adminRoute({
  path: "clock",
  summary: 'the virtual clock; POST {"advanceMs": n} advances it',
  methods: {
    GET: ({ options }) => withClock(options.virtualClock, async (clock) => showTime(clock)),
    POST: ({ options, request }) =>
      withClock(options.virtualClock, (clock) => advance(clock, request)),
  },
});

function withClock(
  clock: AdminClock | undefined,
  use: (clock: AdminClock) => ReturnType<typeof advance>,
) {
  if (clock !== undefined) return use(clock);
  return adminError(
    409,
    "SystemClock",
    "this server runs on the system clock; start it with --clock virtual to control time",
  );
}

async function advance(clock: AdminClock, request: AdminCall["request"]) {
  const span = readAdvance(decodeUtf8(request.body));
  if (span === null) {
    return adminError(
      400,
      "InvalidAdvance",
      `the body must be {"advanceMs": n}, where n is an integer from 0 to ${ADVANCE_MS_MAX}`,
    );
  }
  try {
    await clock.advance(durationMs(span));
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== "TG_VALUE_INVALID") throw error;
    return adminError(400, "InvalidAdvance", error.message); // Past the clock's maximum.
  }
  return showTime(clock);
}

function showTime(clock: AdminClock) {
  return adminReply(200, { nowMs: clock.now() });
}

function readAdvance(text: string | null): number | null {
  if (text === null) return null;
  try {
    const span: unknown = (JSON.parse(text) as { advanceMs?: unknown } | null)?.advanceMs;
    const isInteger = typeof span === "number" && Number.isSafeInteger(span);
    return isInteger && span >= 0 && span <= ADVANCE_MS_MAX ? span : null;
  } catch {
    return null;
  }
}
