import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode, TidegateError } from "../../core/errors.ts";
import { hours, seconds } from "../../core/units.ts";
import { PermanentError, RetryLater } from "../spec/handler-errors.ts";
import { classify, verdictOf } from "./error-class.ts";
import { ERROR_TABLE, type ErrorRow } from "./error-table.ts";
import { fingerprintOf, messageOf, stackOf } from "./error-text.ts";
import { DELAY_MS_MAX } from "./retry.ts";

const UNKNOWN = { errorClass: "unknown", retry: "backoff", blames: "record" };

/** An error as drivers and SDKs create it: a plain error with extra properties. */
function errorWith(members: object, message = "it failed"): Error {
  return Object.assign(new Error(message), members);
}

function summary(verdict: ReturnType<typeof classify>): string {
  return `${verdict.errorClass} ${verdict.retry} ${verdict.blames}`;
}

describe("the table", () => {
  const http = (status: number) => errorWith({ $metadata: { httpStatusCode: status } });

  test.each([
    ["a connection that was reset", errorWith({ code: "ECONNRESET" }), "network backoff sink"],
    ["a signal's timeout", new DOMException("late", "TimeoutError"), "network backoff sink"],
    ["a fetch without a cause", new TypeError("fetch failed"), "network backoff sink"],
    ["a name that is not found", errorWith({ code: "ENOTFOUND" }), "network backoff sink"],
    ["HTTP 429", http(429), "throttling backoff sink"],
    ["HTTP 503 of another client", errorWith({ response: { status: 503 } }), "server backoff sink"],
    ["HTTP 500", errorWith({ statusCode: 500 }), "server backoff sink"],
    ["a server's fault", errorWith({ $fault: "server" }), "server backoff sink"],
    ["HTTP 403", errorWith({ status: 403 }), "permission never sink"],
    ["expired credentials", errorWith({ name: "ExpiredToken" }), "permission backoff sink"],
    [
      "a denied request",
      errorWith({ name: "AccessDenied", $metadata: { httpStatusCode: 403 } }),
      "permission never sink",
    ],
    [
      "SlowDown, which comes with HTTP 503",
      errorWith({ name: "SlowDown", $metadata: { httpStatusCode: 503 } }),
      "throttling backoff sink",
    ],
    ["a file that may not be read", errorWith({ code: "EACCES" }), "permission never sink"],
    ["an object that is gone", errorWith({ name: "NoSuchKey" }), "missing-object never objects"],
    ["a full disk", errorWith({ code: "ENOSPC" }), "sink-full backoff sink"],
    ["data that zod rejects", errorWith({ name: "ZodError" }), "schema never record"],
    ["governance by name", errorWith({ name: "GovernanceError" }), "governance never record"],
    ["governance by class", errorWith({ class: "governance" }), "governance never record"],
    ["an aborted fetch", new DOMException("stop", "AbortError"), "timeout backoff record"],
  ])("classifies %s", (_, error, expected) => {
    expect(summary(classify(error))).toBe(expected);
  });

  test.each([
    ["08006", "postgres backoff sink"],
    ["40001", "postgres backoff record"],
    ["40P01", "postgres backoff record"],
    ["53300", "postgres backoff sink"],
    ["53100", "sink-full backoff sink"],
    ["57P01", "postgres backoff sink"],
    ["57014", "postgres backoff record"],
    ["25006", "postgres backoff sink"],
    ["22P02", "postgres never record"],
    ["23505", "postgres never record"],
    ["42P01", "postgres never record"],
    ["42501", "permission never sink"],
    ["28P01", "permission never sink"],
    ["XX000", "postgres backoff record"],
  ])("classifies SQLSTATE %s", (code, expected) => {
    expect(summary(classify(errorWith({ code, severity: "ERROR" })))).toBe(expected);
  });

  test.each([
    ["SQLITE_BUSY_SNAPSHOT", undefined, "sqlite backoff sink"],
    ["SQLITE_FULL", undefined, "sink-full backoff sink"],
    ["SQLITE_CONSTRAINT_UNIQUE", undefined, "sqlite never record"],
    ["ERR_SQLITE_ERROR", 5, "sqlite backoff sink"],
    ["ERR_SQLITE_ERROR", 13, "sink-full backoff sink"],
    ["ERR_SQLITE_ERROR", 2067, "sqlite never record"],
    ["ERR_SQLITE_ERROR", 8, "permission never sink"],
  ])("classifies SQLite's %s %s", (code, errcode, expected) => {
    expect(summary(classify(errorWith({ code, errcode })))).toBe(expected);
  });

  test.each([
    [["None", "TransactionConflict"], "dynamodb backoff record"],
    [["ThrottlingError", "None"], "throttling backoff sink"],
    [["ThrottlingError", "ConditionalCheckFailed"], "dynamodb never record"],
    [["ValidationError"], "dynamodb never record"],
    [[], "dynamodb backoff record"],
  ])("classifies a cancelled DynamoDB transaction by its reasons %s", (codes, expected) => {
    const CancellationReasons = codes.map((Code) => ({ Code }));
    const error = errorWith({ name: "TransactionCanceledException", CancellationReasons });
    expect(summary(classify(error))).toBe(expected);
  });

  test("has no word that an earlier row hides", () => {
    const rows: readonly ErrorRow[] = ERROR_TABLE;
    const hidden = rows.flatMap((row) =>
      (row.words ?? []).filter((word) => {
        const { errorClass, retry, blames } = row;
        const expected = `${errorClass} ${retry} ${blames}`;
        return summary(classify(errorWith({ name: word }))) !== expected;
      }),
    );
    expect(hidden).toEqual([]);
  });

  test("gives every Tidegate code a class, and a backoff if the code says later", () => {
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const verdict = classify(new TidegateError(code, "m"));
      expect(verdict.errorClass, code).not.toBe("unknown");
      if (ERROR_CODES[code].retry === "later") expect(verdict.retry, code).toBe("backoff");
    }
    const newer = errorWith({ code: "TG_OF_A_LATER_VERSION", retry: "never" });
    expect(summary(classify(newer))).toBe("refused never record");
  });

  test("never dead-letters a record because of the ledger", () => {
    const ledger = ERROR_TABLE.filter(({ blames }) => blames === "ledger");
    expect(ledger.map(({ retry }) => retry)).toEqual(["backoff"]);
  });

  test("has a verdict for failures that the consumer detects itself", () => {
    expect(summary(verdictOf("undecodable"))).toBe("undecodable never record");
    expect(summary(verdictOf("lease-lost"))).toBe("lease-lost backoff queue");
    expect(summary(verdictOf("timeout"))).toBe("timeout backoff record");
    expect(summary(verdictOf("unknown"))).toBe("unknown backoff record");
  });
});

describe("PermanentError and RetryLater", () => {
  test("PermanentError takes precedence over its cause, and sets its class", () => {
    const cause = errorWith({ code: "ECONNRESET" });
    const error = new PermanentError("no", { class: "bad-row", cause });
    expect(summary(classify(error))).toBe("bad-row never record");
    expect(summary(classify(new PermanentError("no")))).toBe("permanent never record");
  });

  test("RetryLater sets its delay, up to the longest delay of a queue", () => {
    expect(classify(new RetryLater(1_500))).toMatchObject({ retry: "later", delayMs: 1_500 });
    expect(classify(new RetryLater(hours(90)))).toMatchObject({ delayMs: DELAY_MS_MAX });
    expect(classify(new RetryLater(-5))).toMatchObject({ retry: "later", delayMs: 0 });
    expect(classify(new RetryLater(Number.NaN))).toMatchObject({ retry: "backoff" });
  });

  test("are recognised inside another error, and in derived classes", () => {
    class BadRow extends PermanentError {
      override readonly name = "BadRow";
    }
    const wrapped = errorWith({ cause: new BadRow("no"), code: "ECONNRESET" });
    expect(summary(classify(wrapped))).toBe("permanent never record");
    const later = new AggregateError([new Error("x"), new RetryLater(seconds(3))]);
    expect(classify(later)).toMatchObject({ retry: "later", delayMs: 3_000 });
  });

  test("are recognised from another copy of the package", () => {
    const foreign = errorWith({ name: "PermanentError", errorClass: "theirs" });
    expect(summary(classify(foreign))).toBe("theirs never record");
  });
});

describe("retry.classify", () => {
  test("decides first", () => {
    const mine = () => ({ errorClass: "mine", retry: "backoff" }) as const;
    expect(summary(classify(new PermanentError("no"), mine))).toBe("mine backoff record");
  });

  test("leaves an error to the table by returning undefined", () => {
    expect(classify(errorWith({ code: "EPIPE" }), () => undefined).errorClass).toBe("network");
  });

  test("does not decide what to blame: the table does", () => {
    const mine = () => ({ errorClass: "mine", retry: "never" }) as const;
    expect(classify(errorWith({ code: "ECONNRESET" }), mine).blames).toBe("sink");
  });

  test.each<[string, () => never]>([
    [
      "throws",
      () => {
        throw new Error("the classifier is wrong");
      },
    ],
    ["returns an empty class", () => ({ errorClass: "", retry: "never" }) as never],
    ["returns an unknown retry", () => ({ errorClass: "x", retry: "perhaps" }) as never],
    ["returns a number", () => 7 as never],
  ])("has no verdict if it %s", (_, wrong) => {
    expect(classify(errorWith({ code: "EPIPE" }), wrong).errorClass).toBe("network");
  });

  test("may name any class; the stored class is a short word", () => {
    const rule = () => ({ errorClass: `a b\n\0${"x".repeat(500)}`, retry: "never" }) as const;
    const { errorClass } = classify("e", rule);
    expect(errorClass).toMatch(/^a-b-x+…$/);
    expect(errorClass.length).toBeLessThanOrEqual(64);
  });
});

describe("causes", () => {
  test("are classified in order if the error itself matches no row", () => {
    const error = new Error("a", { cause: new Error("b", { cause: { code: "40001" } }) });
    expect(summary(classify(error))).toBe("postgres backoff record");
  });

  test("of an aggregate error are its errors", () => {
    const error = new AggregateError([new Error("x"), errorWith({ code: "ECONNREFUSED" })]);
    expect(classify(error).errorClass).toBe("network");
  });

  test("are ignored if the error itself matches a row", () => {
    const cause = errorWith({ code: "23505" });
    const error = new TidegateError("TG_LEDGER_UNAVAILABLE", "m", { cause });
    expect(summary(classify(error))).toBe("unavailable backoff ledger");
  });

  test("may be cyclic or endless", () => {
    const circle: { cause?: unknown } = new Error("round") as never;
    circle.cause = new Error("and round", { cause: circle });
    expect(classify(circle)).toEqual(UNKNOWN);
    const endless: object = new Proxy({}, { get: (_, name) => (name === "cause" ? fresh() : 0) });
    const fresh = () => new Proxy({}, { get: (_, name) => (name === "cause" ? fresh() : 0) });
    expect(classify(endless)).toEqual(UNKNOWN);
    expect(classify({ errors: { length: 1e9 } })).toEqual(UNKNOWN);
  });
});

describe("any thrown value", () => {
  const hostile = new Proxy(new Error("x"), {
    get: () => {
      throw new Error("no access");
    },
    has: () => {
      throw new Error("no access");
    },
    getPrototypeOf: () => {
      throw new Error("no access");
    },
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const getter = Object.defineProperty(new Error("x"), "message", {
    get: () => {
      throw new Error("no message");
    },
  });

  test.each([
    ["a string", "out of luck"],
    ["an empty string", ""],
    ["undefined", undefined],
    ["null", null],
    ["a number", 42],
    ["a symbol", Symbol("s")],
    ["a function", () => 1],
    ["an object without a prototype", Object.create(null)],
    ["a frozen object", Object.freeze({ name: 1, message: {}, cause: [] })],
    ["a Proxy that throws on access", hostile],
    ["a revoked Proxy", revoked.proxy],
    ["an error with a getter that throws", getter],
  ])("%s is unknown, has a message and a fingerprint, and is retried", (_, thrown) => {
    expect(classify(thrown)).toEqual(UNKNOWN);
    expect(messageOf(thrown)).not.toBe("");
    expect(fingerprintOf(thrown, "unknown")).toMatch(/^[0-9a-f]{16}$/);
    expect(() => stackOf(thrown)).not.toThrow();
  });

  test("never makes classify throw", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBoxedValues: true }), (thrown) => {
        const { errorClass, retry } = classify(thrown);
        expect(errorClass).not.toBe("");
        expect(["backoff", "never", "later"]).toContain(retry);
        expect(fingerprintOf(thrown, errorClass)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});
