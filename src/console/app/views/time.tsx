// Time: how far event time has advanced, what holds it back, and which hours are complete.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { callApi } from "../data/api-client.ts";
import { agoText, amountText, countText, timeText } from "../data/format.ts";
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
import { useDryRunCount } from "./dead-letters/dead-letter-dialogs.tsx";
import { WindowGrid } from "./window-grid.tsx";

type Time = ApiSchema["Time"];
type HeldRecord = ApiSchema["HeldRecord"];
type Partition = ApiSchema["Partition"];

const EVERY_HELD = {};

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
  const [isOpen, setOpen] = useState(false);
  const refusal = useRefusal();
  return (
    <Panel
      title="Held records"
      note="too late, kept with their messages"
      actions={
        held.count > 0 && (
          <ActionButton refusal={refusal} onAct={() => setOpen(true)}>
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
      {isOpen && <ReleaseDialog onClose={() => setOpen(false)} />}
    </Panel>
  );
}

/** A dry run counts first, and the release is for that number of records. */
function ReleaseDialog({ onClose }: { readonly onClose: () => void }) {
  const [dryRun, setDryRun] = useState(false);
  const path = useScopedPath("/late/release");
  const count = useDryRunCount(path, EVERY_HELD);
  const isCounted = typeof count === "number";
  const release = async () => {
    const confirmed = dryRun ? { dryRun } : { confirmCount: count };
    const body = { filter: EVERY_HELD, ...confirmed };
    const job = await callApi<ApiSchema["Job"]>(path, { method: "POST", body });
    goTo(linkTo(["jobs", job.id]));
  };
  return (
    <Dialog
      title="Release held records"
      submit={dryRun ? "Start dry run" : "Release"}
      refusal={isCounted || dryRun ? null : "A dry run counts the records first."}
      onSubmit={release}
      onClose={onClose}
    >
      <p>Sends the messages of all held records back. Each is then processed in its lane.</p>
      <p role="status">
        {count === null && "Counting with a dry run …"}
        {isCounted && `The dry run found ${amountText(count, "record")}.`}
        {typeof count === "string" && <span class="bad">{count}</span>}
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={dryRun}
          onChange={(event) => setDryRun(event.currentTarget.checked)}
        />
        Dry run: list them and change nothing
      </label>
    </Dialog>
  );
}
