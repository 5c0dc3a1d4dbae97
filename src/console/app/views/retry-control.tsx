// Retry control: tries a record now that failed and waits for its backoff.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { callApi } from "../data/api-client.ts";
import { sentence } from "../data/format.ts";
import { useRefusal, useScopedPath } from "../data/session.ts";
import { ActionButton } from "../parts/fields.tsx";
import { Notice } from "../parts/notices.tsx";

type Result = ApiSchema["RetryResult"];

const GOES_ON: ReadonlySet<Result["outcome"]> = new Set(["retried", "visible", "waits"]);

export function RetryControl({ recordKey }: { readonly recordKey: string }) {
  const [result, setResult] = useState<Result | Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const refusal = useRefusal();
  const path = useScopedPath(`/records/${encodeURIComponent(recordKey)}/retry`);
  const retry = async () => {
    setBusy(true);
    try {
      setResult(await callApi<Result>(path, { method: "POST", body: {} }));
    } catch (cause) {
      setResult(cause as Error);
    }
    setBusy(false);
  };
  const isGoing = result !== null && "outcome" in result && GOES_ON.has(result.outcome);
  return (
    <Notice
      tone={result === null ? "warn" : isGoing ? "good" : "bad"}
      title={result === null ? "The record waits for its next attempt." : sentence(result.message)}
      live
      action={
        <ActionButton
          refusal={refusal ?? (isBusy ? "The request is running." : null)}
          onAct={retry}
        >
          Retry now
        </ActionButton>
      }
    />
  );
}
