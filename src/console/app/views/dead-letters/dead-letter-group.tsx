// Dead letter group: one cause, with a sample and the dead letters that share it.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { agoText, amountText, countText, jsonText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useRefusal, useScopedPath, useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CodeBlock } from "../../parts/code.tsx";
import { ActionButton } from "../../parts/fields.tsx";
import { Badge, Facts, Figures, Heading, Panel } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";
import { SelectionPanel } from "./dead-letter-selection.tsx";
import { Trend } from "./dead-letters.tsx";
import { EditDialog } from "./edit-dialog.tsx";

type DeadLetter = ApiSchema["DeadLetter"];
type Group = ApiSchema["DeadLetterGroup"];

export function DeadLetterGroupScreen({ group: id }: { readonly group: string }) {
  const cursor = useCursor();
  const refusal = useRefusal();
  const [edited, setEdited] = useState<DeadLetter | null>(null);
  const groups = useLoad<ApiSchema["DeadLetterGroups"]>(useScopedPath("/dead-letters"), LIVE_MS);
  const itemsPath = useScopedPath(`/dead-letters/${encodeURIComponent(id)}/items`, { cursor });
  const loaded = useLoad<ApiSchema["DeadLetterList"]>(itemsPath, LIVE_MS);
  const group = groups.data?.groups.find((each) => each.id === id);
  const sample = group?.sample ?? loaded.data?.items[0];
  return (
    <>
      <Heading
        title={group?.message ?? sample?.message ?? "Dead letters"}
        crumbs={[{ text: "Dead letters", href: linkTo(["dead-letters"]) }]}
      >
        {sample !== undefined && <Badge tone="bad">{sample.errorClass}</Badge>}
      </Heading>
      {group !== undefined && <GroupFigures group={group} />}
      {sample !== undefined && (
        <SelectionPanel
          filter={{ errorClass: sample.errorClass, fingerprint: sample.fingerprint }}
          path={null}
        />
      )}
      {sample !== undefined && <Sample sample={sample} onEdit={() => setEdited(sample)} />}
      <ListPanel
        title="Dead letters of this group"
        label="Dead letters"
        loaded={loaded}
        items={({ items }) => items}
        columns={itemColumns(setEdited, refusal)}
        keyOf={({ key }) => key}
        link={[["dead-letters", id]]}
        waiting={10}
      >
        <Empty title="The group is empty">Its dead letters were redriven or dropped.</Empty>
      </ListPanel>
      {edited !== null && <EditDialog deadLetter={edited} onClose={() => setEdited(null)} />}
    </>
  );
}

function GroupFigures({ group }: { readonly group: Group }) {
  const { now } = useSession();
  return (
    <Figures
      figures={[
        { label: "Dead letters", value: countText(group.count), tone: "bad" },
        { label: "First failure", value: agoText(group.firstFailedAt, now), isText: true },
        { label: "Last failure", value: agoText(group.lastFailedAt, now), isText: true },
        {
          label: "Per hour",
          value: countText(group.trend.counts.at(-1) ?? 0),
          note: <Trend counts={group.trend.counts} />,
        },
      ]}
    />
  );
}

function Sample({ sample, onEdit }: { readonly sample: DeadLetter; readonly onEdit: () => void }) {
  const refusal = useRefusal();
  return (
    <Panel
      title="Sample"
      note={<a href={linkTo(["records", sample.key])}>{sample.name}</a>}
      actions={
        <ActionButton refusal={refusal} onAct={onEdit}>
          Edit and redrive a copy…
        </ActionButton>
      }
    >
      <div class="columns">
        <div class="stacked">
          <h3>Stack</h3>
          <CodeBlock label="Sample stack" text={sample.stack ?? sample.message} />
        </div>
        <div class="stacked">
          <h3>Payload, masked</h3>
          <CodeBlock label="Masked payload" text={jsonText(sample.payload)} />
        </div>
      </div>
      <Facts
        rows={[
          ["Fingerprint", <code key="fingerprint">{sample.fingerprint}</code>],
          ["Attempts", `${sample.attempts}, received ${amountText(sample.receiveCount, "time")}`],
          ["Queue", <a href={linkTo(["queues", sample.queue])}>{sample.queue}</a>],
          sample.deadLetterQueue === null
            ? ["Dead letter", "still in its own queue"]
            : [
                "Dead letter in",
                <a href={linkTo(["queues", sample.deadLetterQueue])}>{sample.deadLetterQueue}</a>,
              ],
          sample.groupId === null ? null : ["Message group", sample.groupId],
          sample.traceId === null ? null : ["Trace", sample.traceId],
        ]}
      />
    </Panel>
  );
}

const itemColumns = (
  onEdit: (item: DeadLetter) => void,
  refusal: string | null,
): readonly RowColumn<DeadLetter>[] => [
  {
    label: "Record",
    cell: ({ key, name, message }) => (
      <>
        <a href={linkTo(["records", key])}>{name}</a>
        <div class="small muted">{message}</div>
      </>
    ),
  },
  { label: "Attempts", kind: "number", cell: ({ attempts }) => countText(attempts) },
  { label: "Event time", kind: "tight", cell: ({ eventTime }) => timeText(eventTime) },
  { label: "Failed", kind: "tight", cell: ({ lastFailedAt }) => timeText(lastFailedAt) },
  {
    label: "Action",
    kind: "tight",
    cell: (item) => (
      <ActionButton refusal={refusal} onAct={() => onEdit(item)}>
        Edit copy…
      </ActionButton>
    ),
  },
];
