// Dead letter dialogs: redrive with rate and automatic stop, and drop with confirmation.

import { useEffect, useState } from "preact/hooks";
import { REDRIVE_DEFAULTS } from "../../../../ingest/policy/redrive-stop.ts";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import { filterQuery, filterWords, type LetterFilter } from "../../data/dead-letter-filter.ts";
import { amountText, countText } from "../../data/format.ts";
import { goTo, linkTo } from "../../data/route.ts";
import { useScopedPath } from "../../data/session.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/fields.tsx";

type Job = ApiSchema["Job"];

interface FilterDialogProps {
  readonly filter: LetterFilter;
  readonly onClose: () => void;
}

const LOOK_MS = 400;
const { perSecond: RATE, stop: STOP } = REDRIVE_DEFAULTS;

export function RedriveDialog({ filter, onClose }: FilterDialogProps) {
  const [perSecond, setPerSecond] = useState(String(RATE));
  const [limit, setLimit] = useState("");
  const [stopAfter, setStopAfter] = useState(String(STOP.failuresMin));
  const [stopPercent, setStopPercent] = useState(String(STOP.failedShareMax * 100));
  const path = useScopedPath("/dead-letters/redrive");
  const send = async () => {
    const body = {
      filter,
      perSecond: Number(perSecond),
      stopAfter: Number(stopAfter),
      stopPercent: Number(stopPercent),
      ...(limit === "" ? {} : { limit: Number(limit) }),
    };
    const job = await callApi<Job>(path, { method: "POST", body });
    goTo(linkTo(["jobs", job.id], filterQuery(filter)));
  };
  const number = { type: "number", min: 1, required: true } as const;
  return (
    <Dialog title="Redrive dead letters" submit="Start redrive" onSubmit={send} onClose={onClose}>
      <p>
        Sends back <strong>{filterWords(filter)}</strong>, on all pages, under the same keys. A
        message that is sent twice is applied once.
      </p>
      <div class="filters">
        <TextField label="Per second" value={perSecond} onValue={setPerSecond} {...number} />
        <TextField
          label="At most (empty: all)"
          value={limit}
          onValue={setLimit}
          type="number"
          min={1}
        />
      </div>
      <div class="filters">
        <TextField
          label="May stop after repeated failures"
          value={stopAfter}
          onValue={setStopAfter}
          {...number}
        />
        <TextField
          label="and above this percentage of failures"
          value={stopPercent}
          onValue={setStopPercent}
          max={100}
          {...number}
        />
      </div>
    </Dialog>
  );
}

/** A dry run counts first; the operator types that count to confirm. */
export function DropDialog({ filter, onClose }: FilterDialogProps) {
  const path = useScopedPath("/dead-letters/drop");
  const [typed, setTyped] = useState("");
  const count = useDryRunCount(path, filter);
  const send = async () => {
    const body = { filter, confirmCount: Number(typed) };
    const job = await callApi<Job>(path, { method: "POST", body });
    goTo(linkTo(["jobs", job.id], filterQuery(filter)));
  };
  const isReady = typeof count === "number" && typed === String(count) && count > 0;
  return (
    <Dialog
      title="Drop dead letters"
      submit={typeof count === "number" ? `Drop ${amountText(count, "dead letter")}` : "Drop"}
      tone="bad"
      refusal={isReady ? null : "Type the number to confirm."}
      onSubmit={send}
      onClose={onClose}
    >
      <p>
        Deletes <strong>{filterWords(filter)}</strong> permanently, on all pages. Their records stay
        parked, so copies of their messages are not processed either.
      </p>
      <p role="status">
        {count === null && "Counting with a dry run …"}
        {typeof count === "number" && `The dry run found ${amountText(count, "dead letter")}.`}
        {typeof count === "string" && <span class="bad">{count}</span>}
      </p>
      <TextField
        label={`Type ${typeof count === "number" ? countText(count).replaceAll(",", "") : "the number"} to confirm`}
        value={typed}
        onValue={(value) => setTyped(value.trim())}
      />
    </Dialog>
  );
}

/** What a dry run finds: its number of items, an error, or null while it runs. */
export function useDryRunCount(path: string, filter: object): number | string | null {
  const [count, setCount] = useState<number | string | null>(null);
  const words = JSON.stringify(filter);
  useEffect(() => {
    const stop = new AbortController();
    const run = async () => {
      const body = { filter: JSON.parse(words) as object, dryRun: true };
      let job = await callApi<Job>(path, { method: "POST", body, signal: stop.signal });
      while (job.state === "running") {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        job = await callApi<Job>(`/jobs/${job.id}`, { signal: stop.signal });
      }
      setCount(job.error ?? job.total ?? 0);
    };
    run().catch((cause: unknown) => {
      if (!stop.signal.aborted) setCount((cause as Error).message);
    });
    return () => stop.abort();
  }, [path, words]);
  return count;
}
