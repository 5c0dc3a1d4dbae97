// Store URL: where a ledger or an outbox is.
//   U1. Parsing opens nothing.
//   U2. No error message contains a password.

import { TidegateError } from "../../core/errors.ts";

export type StoreLocation =
  | { readonly store: "memory" }
  | { readonly store: "sqlite"; readonly path: string }
  | { readonly store: "postgres"; readonly url: string }
  | {
      readonly store: "dynamodb";
      readonly table: string;
      readonly region?: string;
      readonly endpoint?: string;
    };

type StoreKind = "ledger" | "outbox";

const ACCEPTED =
  "sqlite:path, postgres://user@host:port/database, " +
  "dynamodb://table?region=…&endpoint=…, or memory:";
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function parseStoreUrl(url: string, kind: StoreKind): StoreLocation {
  const refuse = (reason: string) => refuseUrl(url, kind, reason);
  if (url === "memory:") return { store: "memory" };
  if (url.startsWith("sqlite:")) {
    const path = url.slice("sqlite:".length);
    if (path === "" || path.startsWith("//")) refuse("names no file");
    return { store: "sqlite", path };
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    if (!URL.canParse(url)) refuse("is not a URL");
    if (new URL(url).pathname.length < 2) refuse("names no database");
    return { store: "postgres", url };
  }
  if (url.startsWith("dynamodb://")) return parseDynamo(url, refuse);
  const scheme = /^[^:]*:/.exec(url)?.[0];
  if (scheme === undefined) refuse("has no scheme");
  const message = `unknown ${kind} URL scheme ${JSON.stringify(scheme)}; use ${ACCEPTED}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function refuseUrl(url: string, kind: StoreKind, reason: string): never {
  const shown = url.replace(/(:\/\/[^:@/]*):[^@/]*@/, "$1:***@"); // U2
  const message = `the ${kind} URL ${JSON.stringify(shown)} ${reason}; use ${ACCEPTED}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function parseDynamo(url: string, refuse: (reason: string) => never): StoreLocation {
  const [table = "", query = ""] = url.slice("dynamodb://".length).split("?", 2);
  if (!TABLE_NAME.test(table)) refuse("names no table");
  const params = new URLSearchParams(query);
  for (const name of params.keys()) {
    if (name !== "region" && name !== "endpoint") refuse(`has the unknown parameter ${name}`);
  }
  const region = params.get("region");
  const endpoint = params.get("endpoint");
  if (endpoint !== null && !/^https?:\/\/./.test(endpoint)) refuse("has no http(s) endpoint");
  return {
    store: "dynamodb",
    table,
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
  };
}

/** Loads an optional driver; if it is missing, the error names the package to install. */
export async function loadDriver<T>(
  kind: StoreKind,
  name: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `this ${kind} needs the package ${name}: npm install ${name}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

/** Whether an endpoint is on this machine. */
export function isLoopbackUrl(endpoint: string | undefined): boolean {
  return endpoint !== undefined && LOOPBACK.test(new URL(endpoint).hostname);
}

/** Placeholder credentials for an endpoint on this machine, which requires a signature only. */
export function localCredentials(endpoint: string | undefined) {
  if (process.env.AWS_ACCESS_KEY_ID !== undefined || !isLoopbackUrl(endpoint)) return {};
  return { credentials: { accessKeyId: "local", secretAccessKey: "local" } };
}
