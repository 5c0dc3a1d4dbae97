// Queue: one queue, its messages without receiving them, its attributes, and its actions.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, durationText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useRefusal } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { ActionButton } from "../../parts/fields.tsx";
import { Badge, Facts, Figures, Heading, Panel } from "../../parts/layout.tsx";
import { LoadError, Notice, Waiting } from "../../parts/notices.tsx";
import { type RowColumn, Rows } from "../../parts/rows.tsx";
import { PurgeDialog, QueueRedriveDialog, SendDialog } from "./queue-dialogs.tsx";
import { QueueMessages } from "./queue-messages.tsx";

type Queue = ApiSchema["Queue"];
type DialogName = "send" | "purge" | "redrive";

export function QueueScreen({ name }: { readonly name: string }) {
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const loaded = useLoad<Queue>(`/queues/${encodeURIComponent(name)}`, LIVE_MS);
  const { data: queue } = loaded;
  const close = () => {
    setDialog(null);
    loaded.reload();
  };
  return (
    <>
      <Heading title={name} crumbs={[{ text: "Queues", href: linkTo(["queues"]) }]}>
        {queue !== null && <QueueActions queue={queue} onOpen={setDialog} />}
      </Heading>
      <LoadError loaded={loaded} what="Queue" />
      {queue === null && loaded.error === null && <Waiting rows={10} />}
      {queue !== null && (
        <>
          <QueueFigures queue={queue} />
          {queue.moveTasks.length > 0 && <MoveTasks queue={queue} />}
          {queue.peekable ? (
            <QueueMessages queue={name} />
          ) : (
            <Notice tone="none" title="SQS shows messages only to receivers">
              Counts and attributes are here. Use <a href={linkTo(["records"])}>Records</a> and{" "}
              <a href={linkTo(["dead-letters"])}>Dead letters</a> to see contents.
            </Notice>
          )}
          <Attributes queue={queue} />
          {dialog === "send" && <SendDialog queue={queue} onClose={close} />}
          {dialog === "purge" && <PurgeDialog queue={queue} onClose={close} />}
          {dialog === "redrive" && <QueueRedriveDialog queue={queue} onClose={close} />}
        </>
      )}
    </>
  );
}

interface QueueActionsProps {
  readonly queue: Queue;
  readonly onOpen: (dialog: DialogName) => void;
}

function QueueActions({ queue, onOpen }: QueueActionsProps) {
  const refusal = useRefusal();
  return (
    <>
      {queue.role !== null && <Badge tone="accent">{queue.role}</Badge>}
      {refusal !== null && <span class="muted">{refusal}</span>}
      <ActionButton refusal={refusal} onAct={() => onOpen("send")}>
        Send…
      </ActionButton>
      {queue.sources.length > 0 && (
        <ActionButton refusal={refusal} onAct={() => onOpen("redrive")}>
          Redrive…
        </ActionButton>
      )}
      <ActionButton refusal={refusal} tone="bad" onAct={() => onOpen("purge")}>
        Purge…
      </ActionButton>
    </>
  );
}

function QueueFigures({ queue }: { readonly queue: Queue }) {
  const link = (state: string) => linkTo(["queues", queue.name], { state });
  return (
    <Figures
      figures={[
        { label: "Waiting", value: countText(queue.visible), href: link("visible") },
        { label: "In flight", value: countText(queue.inFlight), href: link("in-flight") },
        { label: "Delayed", value: countText(queue.delayed), href: link("delayed") },
        { label: "Oldest", value: durationText(queue.oldestAgeMs), isText: true },
      ]}
    />
  );
}

const TASK_COLUMNS: readonly RowColumn<ApiSchema["MoveTask"]>[] = [
  { label: "Status", kind: "tight", cell: ({ status }) => status.toLowerCase() },
  {
    label: "Moved",
    kind: "number",
    cell: ({ moved, toMove }) => `${countText(moved)} of ${countText(toMove)}`,
  },
  { label: "To", cell: ({ destination }) => destination ?? "their own queues" },
  { label: "Started", kind: "tight", cell: ({ startedAt }) => timeText(startedAt) },
  { label: "Failure", cell: ({ failureReason }) => failureReason ?? "" },
];

function MoveTasks({ queue }: { readonly queue: Queue }) {
  return (
    <Panel title="Redrives" note="SQS message move tasks" flush>
      <Rows
        label="Redrives"
        columns={TASK_COLUMNS}
        items={queue.moveTasks}
        keyOf={({ startedAt }) => startedAt}
      />
    </Panel>
  );
}

function Attributes({ queue }: { readonly queue: Queue }) {
  const { deadLetterQueue, sources, attributes } = queue;
  return (
    <Panel title="Attributes">
      <Facts
        rows={[
          deadLetterQueue === null
            ? null
            : [
                "Dead-letter queue",
                <a href={linkTo(["queues", deadLetterQueue])}>{deadLetterQueue}</a>,
              ],
          sources.length === 0
            ? null
            : [
                "Dead letters of",
                sources.map((source) => (
                  <a key={source} href={linkTo(["queues", source])}>
                    {source}{" "}
                  </a>
                )),
              ],
          ...Object.entries(attributes).map(
            ([attribute, value]) => [attribute, <code key={attribute}>{value}</code>] as const,
          ),
        ]}
      />
    </Panel>
  );
}
