import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { epochMs } from "../units.ts";
import {
  formatInstant,
  INSTANT_MS_MAX,
  INSTANT_MS_MIN,
  type Instant,
  parseInstant,
} from "./rfc3339.ts";

function instant(text: string): Instant {
  const parsed = parseInstant(text);
  if (parsed.kind === "invalid") throw new Error(`${text} ${parsed.reason}`);
  return parsed;
}

const anyMs = (): fc.Arbitrary<number> => fc.integer({ min: INSTANT_MS_MIN, max: INSTANT_MS_MAX });

describe("the calendar", () => {
  test("agrees with Date for every instant of the years 0000 to 9999", () => {
    fc.assert(
      fc.property(anyMs(), (at) => {
        const text = formatInstant(epochMs(at));
        expect(text).toBe(new Date(at).toISOString());
        expect(instant(text).epochMs).toBe(at);
      }),
      { numRuns: 1_000 },
    );
  });

  test("agrees with Date at the start of every month of eight centuries", () => {
    for (let year = 1600; year < 2400; year++) {
      for (let month = 0; month < 12; month++) {
        const first = Date.UTC(year, month, 1);
        for (const at of [first - 1, first]) {
          const text = formatInstant(epochMs(at));
          if (text !== new Date(at).toISOString() || instant(text).epochMs !== at) {
            expect.fail(`${text} is not ${new Date(at).toISOString()}`);
          }
        }
      }
    }
  });

  test("offsets shift the instant and are preserved", () => {
    fc.assert(
      fc.property(anyMs(), fc.integer({ min: -1439, max: 1439 }), (at, offset) => {
        const local = at + offset * 60_000;
        fc.pre(local >= INSTANT_MS_MIN && local <= INSTANT_MS_MAX && offset !== 0);
        const size = Math.abs(offset);
        const pad = (value: number): string => String(value).padStart(2, "0");
        const zone = `${offset < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
        const text = new Date(local).toISOString().replace("Z", zone);
        expect(instant(text)).toMatchObject({ epochMs: at, offsetMinutes: offset, text });
      }),
    );
  });
});

describe("valid instants", () => {
  test.each([
    ["2026-11-15T08:00:00Z", 1794729600000],
    ["2026-11-15t08:00:00z", 1794729600000],
    ["2026-11-15T08:00:00.5Z", 1794729600500],
    ["2026-11-15T13:30:00+05:30", 1794729600000],
    ["1969-12-31T23:59:59.999999999Z", -1],
    ["2000-02-29T00:00:00Z", 951782400000],
    ["2024-02-29T00:00:00Z", 1709164800000],
  ])("%s", (text, at) => {
    expect(instant(text)).toMatchObject({ epochMs: at, leapSecond: false, text });
  });

  test("nanoseconds are exact and milliseconds are rounded down (R2)", () => {
    expect(instant("1970-01-01T00:00:00.123456789Z").epochNs).toBe(123_456_789n);
    expect(instant("1970-01-01T00:00:00.123999999999Z").epochMs).toBe(123);
    expect(instant("1969-12-31T23:59:59.9995Z")).toMatchObject({ epochMs: -1, epochNs: -500_000n });
    fc.assert(
      fc.property(anyMs(), fc.stringMatching(/^[0-9]{1,15}$/), (at, digits) => {
        const seconds = Math.floor(at / 1_000) * 1_000;
        const text = new Date(seconds).toISOString().replace(/\.000Z$/, `.${digits}Z`);
        const parsed = instant(text);
        const ns = BigInt(digits.slice(0, 9).padEnd(9, "0"));
        expect(parsed.epochNs).toBe(BigInt(seconds) * 1_000_000n + ns);
        expect(BigInt(parsed.epochMs)).toBe(BigInt(seconds) + ns / 1_000_000n);
      }),
    );
  });

  test("-00:00 is an instant whose offset is unknown", () => {
    expect(instant("2026-11-15T08:00:00-00:00")).toMatchObject({
      epochMs: 1794729600000,
      offsetMinutes: null,
    });
    expect(instant("2026-11-15T08:00:00+00:00").offsetMinutes).toBe(0);
  });

  test("a leap second is clamped to the end of its minute, after all before it (R3)", () => {
    const leap = instant("2016-12-31T23:59:60.5Z");
    expect(leap.leapSecond).toBe(true);
    expect(formatInstant(leap.epochMs)).toBe("2016-12-31T23:59:59.999Z");
    expect(leap.epochNs).toBeGreaterThan(instant("2016-12-31T23:59:59.999999998Z").epochNs);
    expect(leap.epochNs).toBeLessThan(instant("2017-01-01T00:00:00Z").epochNs);
    expect(instant("2017-01-01T05:29:60+05:30").epochNs).toBe(leap.epochNs);
  });
});

describe("texts that Date.parse accepts or misreads (R1)", () => {
  test.each([
    ["no offset", "2025-12-06T02:15:00"],
    ["a date alone", "2025-12-06"],
    ["30 February", "2025-02-30T00:00:00Z"],
    ["29 February of a common year", "2025-02-29T00:00:00Z"],
    ["29 February 1900", "1900-02-29T00:00:00Z"],
    ["31 April", "2025-04-31T00:00:00Z"],
    ["day zero", "2025-04-00T00:00:00Z"],
    ["month zero", "2025-00-10T00:00:00Z"],
    ["month thirteen", "2025-13-10T00:00:00Z"],
    ["24:00", "2025-12-06T24:00:00Z"],
    ["minute 60", "2025-12-06T23:60:00Z"],
    ["second 61", "2016-12-31T23:59:61Z"],
    ["a leap second in mid-month", "2025-12-06T23:59:60Z"],
    ["a leap second in mid-day", "2016-12-31T12:59:60Z"],
    ["a leap second that is none in UTC", "2016-12-31T23:59:60+01:00"],
    ["a number", "1"],
    ["English", "Dec 6 2025"],
    ["RFC 2822", "Sat, 06 Dec 2025 02:15:00 GMT"],
    ["an offset without a colon", "2025-12-06T02:15:00+0530"],
    ["an offset of hours alone", "2025-12-06T02:15:00+05"],
    ["an offset of 24 hours", "2025-12-06T02:15:00+24:00"],
    ["an offset of 60 minutes", "2025-12-06T02:15:00+01:60"],
    ["no seconds", "2025-12-06T02:15Z"],
    ["a space for T", "2025-12-06 02:15:00Z"],
    ["a dot without digits", "2025-12-06T02:15:00.Z"],
    ["a comma for the dot", "2025-12-06T02:15:00,5Z"],
    ["a year of six digits", "+002025-12-06T02:15:00Z"],
    ["a negative year", "-000001-12-06T02:15:00Z"],
    ["a space before", " 2025-12-06T02:15:00Z"],
    ["a line feed after", "2025-12-06T02:15:00Z\n"],
    ["other digits than ASCII's", "２０２５-12-06T02:15:00Z"],
    ["the year before 0000 in UTC", "0000-01-01T00:00:00+00:01"],
    ["the year after 9999 in UTC", "9999-12-31T23:59:00-00:01"],
    ["endless fractions", `2025-12-06T02:15:00.${"1".repeat(60)}Z`],
    ["nothing", ""],
  ])("%s is rejected: %j", (_, text) => {
    const parsed = parseInstant(text);
    expect(parsed.kind).toBe("invalid");
    if (parsed.kind === "invalid") expect(parsed.reason).not.toBe("");
  });
});

test("an instant outside the format is rejected, not written wrongly (R4)", () => {
  expect(formatInstant(INSTANT_MS_MIN)).toBe("0000-01-01T00:00:00.000Z");
  expect(formatInstant(INSTANT_MS_MAX)).toBe("9999-12-31T23:59:59.999Z");
  for (const at of [INSTANT_MS_MIN - 1, INSTANT_MS_MAX + 1, 0.5, Number.NaN]) {
    expect(() => formatInstant(epochMs(at))).toThrow(
      expect.objectContaining({ code: "TG_VALUE_INVALID" }),
    );
  }
});
