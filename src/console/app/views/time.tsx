// Time: how far event time has advanced, what holds it back, and which hours are complete.

import { useState } from "preact/hooks";
import { callApi } from "../data/api-client.ts";
import type { ApiSchema } from "../data/api-schema.ts";
import { agoText, countText, timeText } from "../data/format.ts";
import { goTo, linkTo } from "../data/route.ts";
import { useRefusal, useScopedPath, useSession } from "../data/session.ts";
import { LIVE_MS, useLoad } from "../data/use-load.ts";
import { CommandLine } from "../parts/code.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ActionButton } from "../parts/fields.tsx";
import { Badge, Figures, Heading, Panel } from "../parts/layout.tsx";
import { LinkedText } from "../parts/linked-text.tsx";
import { Empty, LoadError, Notice, Waiting } from "../parts/notices.tsx";
import { type RowColumn, Rows } from "../parts/rows.tsx";
import { WindowGrid } from "./window-grid.tsx";

type Time = ApiSchema["Time"];
type HeldRecord = ApiSchema["HeldRecord"];
type Partition = ApiSchema["Partition"];

export function TimeScreen() {
  const loaded = useLoad<Time>(useScopedPath("/time"), LIVE_MS);
  const { data: time } = loaded;
  return (
    <>
      <Heading title="Time">
        <a class="button" href={linkTo(["replays"])}>
          Replays
        </a>
        <a class="button" href={linkTo(["audits"])}>
          Audits
        </a>
        <a class="button" href={linkTo(["runs"])}>
          Runs
        </a>
      </Heading>
      <LoadError loaded={loaded} what="Time" />
      {time === null && loaded.error === null && <Waiting rows={12} />}
      {time !== null && (
        <>
          <TimeFigures time={time} />
          {time.heldBy !== null && (
            <Notice tone="warn" title={<LinkedText text={holderText(time.heldBy)} />} live>
              {time.looked ? null : "Queued messages could not be looked at."}
            </Notice>
          )}
          <WindowGrid windows={time.windows} />
          <div class="columns">
            <Partitions partitions={time.partitions} />
            <Held held={time.held} />
          </div>
          <CommandLine text={`tidegate watermark ${time.pipeline ?? ""}`.trim()} />
        </>
      )}
    </>
  );
}

/** The API's clause as a sentence: "held: s3://…" is about a record, anything else is not. */
function holderText(clause: string): string {
  const isRecord = /^(queued|in flight|in retry|held|dead-lettered): /.test(clause);
  return isRecord ? `Held back by a record that is ${clause}` : `Held back: ${clause}`;
}

function TimeFigures({ time }: { readonly time: Time }) {
  const { now } = useSession();
  return (
    <Figures
      figures={[
        {
          label: "Watermark",
          value: timeText(time.watermark),
          note: time.watermark === null ? "no record yet" : agoText(time.watermark, now),
          isText: true,
        },
        {
          label: "Complete up to",
          value: timeText(time.completeUpTo),
          note: time.completeUpTo === null ? "not known" : agoText(time.completeUpTo, now),
          isText: true,
        },
        {
          label: "Held, too late",
          value: `${countText(time.held.count)}${time.held.more ? "+" : ""}`,
          note: "wait for a release",
        },
        { label: "Partitions", value: countText(time.partitions.length) },
      ]}
    />
  );
}

function Partitions({ partitions }: { readonly partitions: readonly Partition[] }) {
  const { now } = useSession();
  const columns: readonly RowColumn<Partition>[] = [
    {
      label: "Partition",
      cell: ({ name }) => <a href={linkTo(["records"], { search: name })}>{name}</a>,
    },
    { label: "Latest event time", kind: "tight", cell: ({ eventTime }) => timeText(eventTime) },
    { label: "Last moved", kind: "tight", cell: ({ seenAt }) => agoText(seenAt, now) },
    {
      label: "State",
      kind: "tight",
      cell: ({ idle, holds }) =>
        holds ? (
          <Badge tone="warn">holds the watermark</Badge>
        ) : (
          <Badge tone={idle ? "none" : "good"}>{idle ? "idle" : "active"}</Badge>
        ),
    },
  ];
  return (
    <Panel title="Watermarks by partition" flush>
      {partitions.length === 0 ? (
        <Empty title="No partitions yet">
          A partition appears with its first record: a folder, a message group or a source.
        </Empty>
      ) : (
        <Rows label="Partitions" columns={columns} items={partitions} keyOf={({ name }) => name} />
      )}
    </Panel>
  );
}

const HELD_COLUMNS: readonly RowColumn<HeldRecord>[] = [
  { label: "Record", cell: ({ key, name }) => <a href={linkTo(["records", key])}>{name}</a> },
  { label: "Event time", kind: "tight", cell: ({ eventTime }) => timeText(eventTime) },
  { label: "Held", kind: "tight", cell: ({ heldAt }) => timeText(heldAt) },
];
const LATE_QUEUE: RowColumn<HeldRecord> = {
  label: "Late queue",
  cell: ({ lateQueue }) => lateQueue ?? "",
};
const isElsewhere = ({ lateQueue }: HeldRecord) => lateQueue !== null;

function Held({ held }: { readonly held: Time["held"] }) {
  const [dryRun, setDryRun] = useState<boolean | null>(null);
  const refusal = useRefusal();
  const path = useScopedPath("/late/release");
  const release = async () => {
    const job = await callApi<ApiSchema["Job"]>(path, { method: "POST", body: { dryRun } });
    goTo(linkTo(["jobs", job.id]));
  };
  return (
    <Panel
      title="Held records"
      note="too late, kept with their messages"
      actions={
        held.count > 0 && (
          <ActionButton refusal={refusal} onAct={() => setDryRun(false)}>
            Release…
          </ActionButton>
        )
      }
      flush
    >
      {held.items.length === 0 ? (
        <Empty title="No held records">
          With <code>late: "hold"</code>, a pipeline keeps records here that arrive too late.
        </Empty>
      ) : (
        <Rows
          label="Held records"
          columns={held.items.some(isElsewhere) ? [...HELD_COLUMNS, LATE_QUEUE] : HELD_COLUMNS}
          items={held.items}
          keyOf={({ key }) => key}
        />
      )}
      {dryRun !== null && (
        <Dialog
          title="Release held records"
          submit={dryRun ? "Start dry run" : "Release"}
          onSubmit={release}
          onClose={() => setDryRun(null)}
        >
          <p>Sends the messages of all held records back. Each is then processed in its lane.</p>
          <label class="check">
            <input
              type="checkbox"
              checked={dryRun}
              onChange={(event) => setDryRun(event.currentTarget.checked)}
            />
            Dry run: list them and change nothing
          </label>
        </Dialog>
      )}
    </Panel>
  );
}
