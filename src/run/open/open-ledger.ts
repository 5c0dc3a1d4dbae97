// Opening a ledger by URL: the one place that knows every store. Drivers are loaded only when a URL
// asks for them, as they are optional.

import { TidegateError } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Random } from "../../ports/random.ts";
import type { Turn } from "../../ports/turn.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";

export interface LedgerPorts {
  readonly clock: Clock;
  readonly turn: Turn;
  readonly random: Random;
}

export interface OpenLedgerOptions {
  readonly retentionMs?: DurationMs;
  /** Whether to create or bring up to date what is missing; otherwise that is an error. */
  readonly migrate?: boolean;
}

/** Where a ledger is, as its URL says. */
export type LedgerLocation =
  | { readonly store: "memory" }
  | { readonly store: "sqlite"; readonly path: string }
  | { readonly store: "postgres"; readonly url: string }
  | {
      readonly store: "dynamodb";
      readonly table: string;
      readonly region?: string;
      readonly endpoint?: string;
    };

const ACCEPTED =
  "sqlite:path, postgres://user@host:port/database, " +
  "dynamodb://table?region=…&endpoint=…, or memory:";
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function refuse(url: string, why: string): never {
  // The password, if there is one, is nobody's business.
  const shown = url.replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1:***@");
  const message = `the ledger URL ${JSON.stringify(shown)} ${why}; accepted are ${ACCEPTED}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** Reads a ledger's URL without touching anything. */
export function parseLedgerUrl(url: string): LedgerLocation {
  if (url === "memory:") return { store: "memory" };
  if (url.startsWith("sqlite:")) {
    const path = url.slice("sqlite:".length);
    if (path === "" || path.startsWith("//")) refuse(url, "names no file");
    return { store: "sqlite", path };
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    if (!URL.canParse(url)) refuse(url, "is no URL");
    if (new URL(url).pathname.length < 2) refuse(url, "names no database");
    return { store: "postgres", url };
  }
  if (url.startsWith("dynamodb://")) return parseDynamo(url);
  return refuse(url, "is of no known store");
}

function parseDynamo(url: string): LedgerLocation {
  const [table = "", query = ""] = url.slice("dynamodb://".length).split("?", 2);
  if (!TABLE_NAME.test(table)) refuse(url, "names no table");
  const params = new URLSearchParams(query);
  for (const name of params.keys()) {
    if (name !== "region" && name !== "endpoint") refuse(url, `has the unknown parameter ${name}`);
  }
  const region = params.get("region");
  const endpoint = params.get("endpoint");
  if (endpoint !== null && !/^https?:\/\/./.test(endpoint)) refuse(url, "has no http(s) endpoint");
  return {
    store: "dynamodb",
    table,
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
  };
}

async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `this ledger needs the package ${name}: npm install ${name}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

/** Local stand-ins want signed requests, too, but look at no key. */
export function localCredentials(endpoint: string | undefined) {
  if (endpoint === undefined || process.env.AWS_ACCESS_KEY_ID !== undefined) return {};
  if (!LOOPBACK.test(new URL(endpoint).hostname)) return {};
  return { credentials: { accessKeyId: "local", secretAccessKey: "local" } };
}

/** Opens the ledger a URL names. */
export async function openLedger(
  url: string,
  ports: LedgerPorts,
  options: OpenLedgerOptions = {},
): Promise<Ledger> {
  const place = parseLedgerUrl(url);
  switch (place.store) {
    case "memory":
      return createMemoryLedger(ports, options);
    case "sqlite": {
      const { createSqliteLedger } = await import("../../stores/sqlite/ledger/ledger.ts");
      const { migrate = true, ...more } = options;
      return createSqliteLedger(ports, { path: place.path, mustExist: !migrate, ...more });
    }
    case "postgres": {
      const load = () => import("../../stores/postgres/ledger.ts");
      const { createPostgresLedger } = await loadDriver("pg", load);
      return await createPostgresLedger(ports, { url: place.url, ...options });
    }
    case "dynamodb": {
      const load = () => import("../../stores/dynamodb/ledger.ts");
      const { createDynamoLedger } = await loadDriver("@aws-sdk/client-dynamodb", load);
      const { store: _, ...where } = place;
      const credentials = localCredentials(place.endpoint);
      return await createDynamoLedger(ports, { ...where, ...credentials, ...options });
    }
  }
}
