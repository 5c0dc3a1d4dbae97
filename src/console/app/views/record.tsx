// Record: everything about one record: what `tidegate why` prints, as a timeline.

import type { ComponentChildren } from "preact";
import type { ApiSchema } from "../../api/api-schema.ts";
import {
  amountText,
  bytesText,
  countText,
  durationText,
  exactTimeText,
  timeText,
} from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { useScopedPath, useSession } from "../data/session.ts";
import { LIVE_MS, useLoad } from "../data/use-load.ts";
import { CodeBlock, CommandLine } from "../parts/code.tsx";
import { type FactRow, Facts, Figures, Heading, Panel } from "../parts/layout.tsx";
import { LoadError, Notice, Waiting } from "../parts/notices.tsx";
import { OutcomeBadge } from "../parts/outcome-badge.tsx";
import { RetryControl } from "./retry-control.tsx";

type RecordDetail = ApiSchema["Record"];

export function RecordScreen({ recordKey }: { readonly recordKey: string }) {
  const loaded = useLoad<RecordDetail>(
    useScopedPath(`/records/${encodeURIComponent(recordKey)}`),
    LIVE_MS,
  );
  const { data } = loaded;
  return (
    <>
      <Heading
        title={data?.summary.name ?? recordKey}
        crumbs={[{ text: "Records", href: linkTo(["records"]) }]}
      >
        {data !== null && <OutcomeBadge outcome={data.summary.outcome} />}
      </Heading>
      <LoadError loaded={loaded} what="Record" />
      {data === null && loaded.error === null && <Waiting rows={12} />}
      {data !== null && <Detail record={data} />}
    </>
  );
}

function Detail({ record }: { readonly record: RecordDetail }) {
  const { summary, deadLetter, duplicates } = record;
  return (
    <>
      <Figures
        figures={[
          { label: "Attempts", value: countText(summary.attempts), note: `fence ${summary.fence}` },
          {
            label: "Duplicates suppressed",
            value: countText(duplicates?.count ?? 0),
            note: duplicates === null ? "none seen" : `last ${timeText(duplicates.lastAt)}`,
          },
          { label: "Lane", value: summary.lane, note: laneNote(record) },
          { label: "Effects", value: countText(summary.rows), note: effectsNote(record) },
          { label: "Took", value: durationText(record.tookMs), note: "handler and commit" },
        ]}
      />
      {deadLetter !== null && summary.outcome === "dead-lettered" && (
        <Notice
          tone="bad"
          title={`${deadLetter.errorClass}: ${deadLetter.message}`}
          action={
            <a class="button" href={groupLink(deadLetter)}>
              Show group
            </a>
          }
        >
          Dead-lettered after {amountText(deadLetter.attempts, "attempt")}.
        </Notice>
      )}
      {(summary.outcome === "retrying" || summary.outcome === "returned") && (
        <RetryControl recordKey={summary.key} />
      )}
      <div class="columns">
        <Timeline record={record} />
        <About record={record} />
      </div>
      {deadLetter !== null && <Failure deadLetter={deadLetter} />}
      <Panel title="As text">
        <CommandLine text={`tidegate why '${summary.key}'`} />
        <CodeBlock label="Output of tidegate why" text={record.text.join("\n")} />
      </Panel>
    </>
  );
}

function groupLink({ errorClass, fingerprint }: ApiSchema["DeadLetter"]): string {
  return linkTo(["dead-letters"], { errorClass, fingerprint });
}

function laneNote({ watermark, tooLate }: RecordDetail): string {
  if (tooLate !== null)
    return tooLate.to === null ? "held until released" : `sent to ${tooLate.to}`;
  return watermark === null ? "no watermark yet" : `at watermark ${timeText(watermark)}`;
}

function effectsNote({ effects, superseded, quarantined }: RecordDetail): string {
  if (superseded) return "skipped: a newer event was applied first";
  if (effects === null) return "not committed";
  const counts = Object.entries(effects).map(([name, count]) => `${name} × ${countText(count)}`);
  if (quarantined > 0) counts.push(`${amountText(quarantined, "row")} in quarantine`);
  return counts.length === 0 ? "none" : counts.join(", ");
}

function Timeline({ record }: { readonly record: RecordDetail }) {
  return (
    <Panel title="Timeline" note="UTC" flush>
      <ol class="timeline">
        {record.timeline.map((entry, index) => (
          <li key={`${entry.at} ${index}`} data-status={entry.status}>
            <time>{exactTimeText(entry.at)}</time>
            <span>
              <strong>{entry.status}</strong>{" "}
              <span class="muted">
                fence {entry.fence}
                {entry.owner === null ? "" : ` by ${entry.owner}`}
              </span>
              {entry.failure !== null && (
                <div class="bad">
                  {entry.failure.errorClass}: {entry.failure.message}
                </div>
              )}
            </span>
          </li>
        ))}
        {record.heldBy !== null && (
          <li data-status="started">
            <time>until {exactTimeText(record.heldBy.until)}</time>
            <span>
              <strong>claimed</strong> <span class="muted">by {record.heldBy.owner}</span>
            </span>
          </li>
        )}
      </ol>
    </Panel>
  );
}

function About({ record }: { readonly record: RecordDetail }) {
  const { object, summary, run } = record;
  const optional = (label: string, value: ComponentChildren): FactRow | null =>
    value === null || value === "" ? null : [label, value];
  return (
    <Panel title="Where it came from">
      <Facts
        rows={[
          ["Record key", <code key="key">{summary.key}</code>],
          optional("Object", object === null ? null : <ObjectLink object={object} />),
          optional("Version", object?.versionId ?? null),
          optional("ETag", object?.etag ?? null),
          optional("Size", object?.size == null ? null : bytesText(object.size)),
          optional("Sequencer", object?.sequencer ?? null),
          optional("Source", record.source),
          optional("Business key", record.businessKey),
          optional("Event id", record.eventId),
          ["Event time", timeText(summary.eventTime)],
          ["Partition", <a href={linkTo(["time"])}>{record.partition}</a>],
          ["Message", `${record.messageId}, sent ${timeText(record.sentAt)}`],
          optional("Trace", <Trace traceId={record.traceId} />),
          optional(
            "Edited copies",
            record.edited === null ? null : <Copies edited={record.edited} />,
          ),
          ["First seen", timeText(summary.seenAt)],
          ["Kept until", timeText(record.rememberedUntil)],
          optional("Digest", record.digest),
          optional(
            "Run",
            run === null ? null : <a href={linkTo(["runs"], { run: run.id })}>{run.id}</a>,
          ),
          optional("Code", run?.codeDigest ?? null),
        ]}
      />
    </Panel>
  );
}

function Copies({ edited }: { readonly edited: NonNullable<RecordDetail["edited"]> }) {
  const { count, messageId, at } = edited;
  return (
    <a href={linkTo(["records"], { search: messageId })}>
      {amountText(count, "copy", "copies")} sent as new records, the last {timeText(at)}
    </a>
  );
}

function ObjectLink({
  object,
}: {
  readonly object: { readonly bucket: string; readonly key: string };
}) {
  const folder = object.key.slice(0, object.key.lastIndexOf("/") + 1);
  return (
    <a href={linkTo(["buckets", object.bucket], { prefix: folder })}>
      s3://{object.bucket}/{object.key}
    </a>
  );
}

function Trace({ traceId }: { readonly traceId: string | null }) {
  const { session } = useSession();
  if (traceId === null) return <span class="muted">none</span>;
  const { traceUrl } = session;
  if (traceUrl === null || !/^https?:/.test(traceUrl)) return <code>{traceId}</code>;
  const url = traceUrl.replace("{traceId}", encodeURIComponent(traceId));
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {traceId}
    </a>
  );
}

function Failure({ deadLetter }: { readonly deadLetter: ApiSchema["DeadLetter"] }) {
  return (
    <Panel title="Failure report" note={`fingerprint ${deadLetter.fingerprint}`}>
      <CodeBlock label="Stack" text={deadLetter.stack ?? deadLetter.message} />
      <h3>Payload, masked</h3>
      <CodeBlock label="Masked payload" text={JSON.stringify(deadLetter.payload, null, 2)} />
    </Panel>
  );
}
