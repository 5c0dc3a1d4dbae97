// Open shadow: the shadow of a pipeline's sink. Only table sinks have one.

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Shadow, ShadowName } from "../../ports/shadow.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { type LedgerDatabase, openTableShadow } from "../../sinks/table/index.ts";

/** Throws TG_REPLAY_REFUSED for a sink without shadows. */
export function openShadow(
  { sink }: Pipeline,
  ledger: Ledger,
  ledgerUrl: string,
  name: ShadowName,
): Shadow {
  if (sink === null || typeof sink === "function") {
    const kind = sink === null ? "a pipeline without a sink" : "a sink function";
    const message = `${kind} has no shadow; use tables(), or replay into live`;
    throw new TidegateError("TG_REPLAY_REFUSED", message);
  }
  return openTableShadow(sink, databaseOf(ledger, ledgerUrl), name);
}

function databaseOf({ sinkStore: store }: Ledger, url: string): LedgerDatabase | null {
  const location = parseStoreUrl(url, "ledger");
  if (store === null) return null;
  if (location.store === "sqlite") {
    return { address: { dialect: "sqlite", path: location.path }, store };
  }
  if (location.store !== "postgres") return null;
  return { address: { dialect: "postgres", url: location.url }, store };
}
