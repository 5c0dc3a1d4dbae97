// Replay: one replay, what promoting it would change, and the promotion itself.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import { amountText, countText, timeText } from "../../data/format.ts";
import { goTo, linkTo } from "../../data/route.ts";
import { useRefusal, useScopedPath } from "../../data/session.ts";
import { LIVE_MS, type Loaded, useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ActionButton } from "../../parts/fields.tsx";
import { Facts, Figures, Heading, Panel } from "../../parts/layout.tsx";
import { Empty, LoadError, Notice, Waiting } from "../../parts/notices.tsx";
import { type RowColumn, Rows } from "../../parts/rows.tsx";
import { ReplayBadge } from "./replays.tsx";

type Replay = ApiSchema["Replay"];
type Diff = ApiSchema["ReplayDiff"];
type Table = Diff["tables"][number];
type Sample = Table["samples"][number];

export function ReplayScreen({ run }: { readonly run: string }) {
  const id = encodeURIComponent(run);
  const loaded = useLoad<Replay>(useScopedPath(`/replays/${id}`), LIVE_MS);
  const { data } = loaded;
  const hasShadow = data?.into === "shadow" && /^(ready|promoted)$/.test(data.state);
  const diffPath = useScopedPath(`/replays/${id}/diff`);
  const diff = useLoad<Diff>(hasShadow && data.state === "ready" ? diffPath : null);
  return (
    <>
      <Heading
        title={<span class="mono">{run}</span>}
        crumbs={[
          { text: "Time", href: linkTo(["time"]) },
          { text: "Replays", href: linkTo(["replays"]) },
        ]}
      >
        {data !== null && <ReplayBadge state={data.state} />}
        {data !== null && <Endings replay={data} onPromoted={loaded.reload} />}
      </Heading>
      <LoadError loaded={loaded} what="Replay" />
      {data === null && loaded.error === null && <Waiting rows={10} />}
      {data !== null && <About replay={data} />}
      {data !== null && <Differences replay={data} diff={diff} />}
      <CommandLine text={`tidegate replay show ${run}`} />
    </>
  );
}

function About({ replay }: { readonly replay: Replay }) {
  const { outcome } = replay;
  return (
    <>
      <Figures
        figures={[
          { label: "Records", value: countText(replay.inputs), note: "frozen before the start" },
          { label: "Committed", value: countText(outcome?.committed ?? null) },
          {
            label: "Failed",
            value: countText(outcome?.failed ?? null),
            tone: (outcome?.failed ?? 0) > 0 ? "bad" : undefined,
          },
          {
            label: "Gone",
            value: countText(replay.missing),
            note: "object versions or messages",
            tone: replay.missing > 0 ? "warn" : undefined,
          },
        ]}
      />
      {(outcome?.failures ?? []).map(({ uri, reason }) => (
        <Notice key={uri} tone="bad" title={uri}>
          {reason}
        </Notice>
      ))}
      <Panel title="What ran">
        <Facts
          rows={[
            ["Event time", `${timeText(replay.from)} to ${timeText(replay.to)}`],
            replay.prefix === null ? null : ["Objects", replay.prefix],
            ["Into", replay.into === "shadow" ? "shadow tables" : "the live tables"],
            ["Generation", countText(replay.generation)],
            ["Code", <code key="code">{replay.codeDigest}</code>],
            ["Created", timeText(replay.createdAt)],
          ]}
        />
      </Panel>
    </>
  );
}

const DIFFERENCE_COLUMNS: readonly RowColumn<Table>[] = [
  { label: "Table", cell: ({ table }) => table },
  { label: "Added", kind: "number", cell: ({ added }) => countText(added) },
  { label: "Removed", kind: "number", cell: ({ removed }) => countText(removed) },
  { label: "Changed", kind: "number", cell: ({ changed }) => countText(changed) },
  { label: "Objects kept", kind: "number", cell: ({ keptObjects }) => countText(keptObjects) },
];

function Differences({ replay, diff }: { readonly replay: Replay; readonly diff: Loaded<Diff> }) {
  const { data } = diff;
  if (replay.into === "live") return null;
  return (
    <>
      <LoadError loaded={diff} what="Comparison" />
      <Panel title="What a promotion changes" note="rows, against the live tables" flush>
        {replay.state !== "ready" && (
          <Empty
            title={replay.state === "promoted" ? "Promoted already" : "Nothing to compare yet"}
          >
            {replay.state === "promoted"
              ? "The rows of this replay are the live ones."
              : "A replay can be compared when it is ready: when its last record is done."}
          </Empty>
        )}
        {replay.state === "ready" && data === null && diff.error === null && <Waiting rows={4} />}
        {data !== null && (
          <Rows
            label="Differences"
            columns={DIFFERENCE_COLUMNS}
            items={data.tables}
            keyOf={({ table }) => table}
          />
        )}
      </Panel>
      {data?.hidden === true && (
        <Notice tone="none" title="Values are hidden, because the pipeline has masks.">
          <code>tidegate replay diff {replay.run}</code> prints them.
        </Notice>
      )}
      {(data?.tables ?? []).map((table) => (
        <Samples key={table.table} table={table} />
      ))}
    </>
  );
}

const SAMPLE_COLUMNS: readonly RowColumn<Sample>[] = [
  { label: "Change", kind: "tight", cell: ({ kind }) => kind },
  { label: "Key", cell: ({ key }) => rowText(key) },
  { label: "Live", cell: ({ live }) => rowText(live) },
  { label: "Replayed", cell: ({ replayed }) => rowText(replayed) },
];

function rowText(row: Sample["live"]): string {
  if (row === null) return "no row";
  return Object.entries(row)
    .map(([column, value]) => `${column} ${value ?? "null"}`)
    .join(", ");
}

function Samples({ table }: { readonly table: Table }) {
  if (table.samples.length === 0) return null;
  return (
    <Panel title={`Samples of ${table.table}`} note={amountText(table.samples.length, "row")} flush>
      <Rows
        label={`Samples of ${table.table}`}
        columns={SAMPLE_COLUMNS}
        items={table.samples}
        keyOf={({ kind, key }) => `${kind} ${JSON.stringify(key)}`}
      />
    </Panel>
  );
}

/** Promote and drop, each with a confirmation. */
function Endings({
  replay,
  onPromoted,
}: {
  readonly replay: Replay;
  readonly onPromoted: () => void;
}) {
  const { run, state } = replay;
  const [asking, setAsking] = useState<"promote" | "drop" | null>(null);
  const refusal = useRefusal();
  const path = useScopedPath(`/replays/${encodeURIComponent(run)}/${asking ?? "drop"}`);
  const send = async () => {
    await callApi(path, { method: "POST", body: { confirm: run } });
    if (asking === "drop") goTo(linkTo(["replays"]));
    else onPromoted();
  };
  const unready = state === "ready" ? null : "Only a replay that is ready can be promoted.";
  const running = state === "running" ? "Cancel it first with tidegate replay cancel." : null;
  return (
    <>
      <ActionButton tone="accent" refusal={refusal ?? unready} onAct={() => setAsking("promote")}>
        Promote…
      </ActionButton>
      <ActionButton tone="bad" refusal={refusal ?? running} onAct={() => setAsking("drop")}>
        Drop…
      </ActionButton>
      {asking !== null && (
        <Dialog
          title={asking === "promote" ? "Promote the replay" : "Drop the replay"}
          submit={asking === "promote" ? "Promote" : "Drop"}
          tone={asking === "promote" ? "accent" : "bad"}
          onSubmit={send}
          onClose={() => setAsking(null)}
        >
          <p>
            {asking === "promote"
              ? "Replaces the live rows of the replayed records, in one transaction: all rows of an " +
                "object, and the rows of messages key by key. An object with a newer event keeps " +
                "its live rows. A promotion cannot be undone."
              : "Removes the shadow tables and forgets the run. The live tables stay as they are."}
          </p>
        </Dialog>
      )}
    </>
  );
}
