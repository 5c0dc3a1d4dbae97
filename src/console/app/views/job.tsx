// Job: follows a redrive, drop or release, item by item, to its end.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { callApi } from "../data/api-client.ts";
import { amountText, countText, durationText, exactTimeText, timeText } from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { useRefusal, useSession } from "../data/session.ts";
import { useLoad } from "../data/use-load.ts";
import { ActionButton } from "../parts/fields.tsx";
import { Badge, type Figure, Figures, Heading, Panel, type Tone } from "../parts/layout.tsx";
import { Empty, LoadError, Notice, Waiting } from "../parts/notices.tsx";
import { type RowColumn, Rows } from "../parts/rows.tsx";

type Job = ApiSchema["Job"];
type JobItem = ApiSchema["JobItem"];

const FOLLOW_MS = 1_000;

const STATE_TONES: Readonly<Record<Job["state"], Tone>> = {
  running: "accent",
  done: "good",
  stopped: "warn",
  failed: "bad",
};

export function JobStateBadge({ state }: { readonly state: Job["state"] }) {
  return <Badge tone={STATE_TONES[state]}>{state}</Badge>;
}

export function jobTitle({ kind, dryRun }: Job): string {
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  return dryRun ? `${name}, dry run` : name;
}

const COLUMNS: readonly RowColumn<JobItem>[] = [
  { label: "Time", kind: "tight", cell: ({ at }) => exactTimeText(at) },
  { label: "Record", cell: ({ key, name }) => <a href={linkTo(["records", key])}>{name}</a> },
  { label: "Step", kind: "tight", cell: ({ step }) => <Badge tone={stepTone(step)}>{step}</Badge> },
  { label: "Detail", cell: ({ detail }) => detail ?? "" },
];

function stepTone(step: string): Tone {
  if (/failed|missing|refused|rejected/.test(step)) return "bad";
  return /committed|dropped|released/.test(step) ? "good" : "none";
}

export function JobScreen({ job: id }: { readonly job: string }) {
  const [ended, setEnded] = useState(false);
  const loaded = useLoad<Job>(`/jobs/${encodeURIComponent(id)}`, ended ? undefined : FOLLOW_MS);
  const { data: job } = loaded;
  if (job !== null && job.state !== "running" && !ended) setEnded(true);
  return (
    <>
      <Heading
        title={job === null ? "Job" : jobTitle(job)}
        crumbs={[{ text: "Dead letters", href: linkTo(["dead-letters"]) }]}
      >
        {job !== null && <JobStateBadge state={job.state} />}
        {job?.state === "running" && <StopButton id={job.id} onStopped={loaded.reload} />}
      </Heading>
      <LoadError loaded={loaded} what="Job" />
      {job === null && loaded.error === null && <Waiting rows={8} />}
      {job !== null && <JobDetail job={job} />}
    </>
  );
}

function StopButton({ id, onStopped }: { readonly id: string; readonly onStopped: () => void }) {
  const refusal = useRefusal();
  const stop = async () => {
    await callApi(`/jobs/${encodeURIComponent(id)}/cancel`, { method: "POST", body: {} });
    onStopped();
  };
  return (
    <ActionButton refusal={refusal} tone="bad" onAct={() => void stop()}>
      Stop
    </ActionButton>
  );
}

function JobDetail({ job }: { readonly job: Job }) {
  const { now } = useSession();
  const figures: Figure[] = [
    { label: "Selected", value: countText(job.total) },
    ...Object.entries(job.counts).map(([step, count]) => ({
      label: step,
      value: countText(count),
      tone: stepTone(step) === "bad" && count > 0 ? ("bad" as const) : undefined,
    })),
    {
      label: job.endedAt === null ? "Running for" : "Took",
      value: durationText((job.endedAt ?? now) - job.startedAt),
      note: `since ${timeText(job.startedAt)}`,
      isText: true,
    },
  ];
  return (
    <>
      {job.error !== null && <Notice tone="bad" title={job.error} live />}
      {job.stoppedBecause !== null && (
        <Notice tone="warn" title={`Stopped: ${job.stoppedBecause}`} live>
          Fix the cause, then start it again. What was already sent is not sent again.
        </Notice>
      )}
      {job.dryRun && job.state === "done" && (
        <Notice tone="none" title="Nothing was changed" live>
          The dry run selected {amountText(job.total ?? 0, "dead letter")}.
        </Notice>
      )}
      <Figures figures={figures} />
      <Panel title="Items" note="the latest 200, newest first" flush>
        {job.items.length === 0 ? (
          <Empty title={job.state === "running" ? "Starting" : "No items"}>
            {job.state === "running"
              ? "Items appear as they are processed."
              : "The filter matched no dead letters."}
          </Empty>
        ) : (
          <Rows
            label="Items"
            columns={COLUMNS}
            items={job.items}
            keyOf={({ at, key, step }) => `${at} ${key} ${step}`}
          />
        )}
      </Panel>
    </>
  );
}
