// Records: search by object, record key, event id or business key, and lists by outcome.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { amountText, countText, timeText } from "../data/format.ts";
import { goTo, linkTo } from "../data/route.ts";
import { useScopedPath, useSession } from "../data/session.ts";
import { LIVE_MS, useLoad } from "../data/use-load.ts";
import { Choice, TextField } from "../parts/fields.tsx";
import { Heading } from "../parts/layout.tsx";
import { ListPanel, useCursor } from "../parts/list-panel.tsx";
import { Empty } from "../parts/notices.tsx";
import { OutcomeBadge } from "../parts/outcome-badge.tsx";
import type { RowColumn } from "../parts/rows.tsx";

type RecordList = ApiSchema["RecordList"];
type RecordSummary = ApiSchema["RecordSummary"];

const OUTCOMES: readonly (readonly [string, string])[] = [
  ["", "Any"],
  ["committed", "Committed"],
  ["in-progress", "In progress"],
  ["retrying", "Failed, will be retried"],
  ["returned", "Returned to the queue"],
  ["dead-lettered", "Dead-lettered"],
];

/** "2026-11-17T08:00:00" */
const FIELD_CHARS = 19;

const COLUMNS: readonly RowColumn<RecordSummary>[] = [
  {
    label: "Record",
    cell: ({ key, name, failure }) => (
      <>
        <a href={linkTo(["records", key])}>{name}</a>
        {failure !== null && (
          <div class="small muted">
            {failure.errorClass}: {failure.message}
          </div>
        )}
      </>
    ),
  },
  { label: "Outcome", kind: "tight", cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
  { label: "Lane", kind: "tight", cell: ({ lane }) => lane },
  { label: "Attempts", kind: "number", cell: ({ attempts }) => countText(attempts) },
  { label: "Rows", kind: "number", cell: ({ rows }) => countText(rows) },
  { label: "Event time", kind: "tight", cell: ({ eventTime }) => timeText(eventTime) },
  { label: "Changed", kind: "tight", cell: ({ changedAt }) => timeText(changedAt) },
];

export function RecordsScreen() {
  const { route } = useSession();
  const filter = {
    search: route.query.get("search"),
    outcome: route.query.get("outcome"),
    since: route.query.get("since"),
    until: route.query.get("until"),
    prefix: route.query.get("prefix"),
  };
  const cursor = useCursor();
  const path = useScopedPath("/records", { ...filter, cursor });
  const loaded = useLoad<RecordList>(path, cursor === null ? LIVE_MS : undefined);
  const { data } = loaded;
  return (
    <>
      <Heading title="Records" lead="Everything that the ledger knows, newest event time first." />
      <RecordFilter key={JSON.stringify(filter)} filter={filter} />
      <ListPanel
        title="Results"
        label="Records"
        note={data === null ? "" : noteOf(data)}
        loaded={loaded}
        items={({ records }) => records}
        columns={COLUMNS}
        keyOf={({ key, generation }) => `${key} ${generation}`}
        link={[["records"], filter]}
        waiting={10}
        pagerNote={
          data === null || data.complete
            ? ""
            : `Looked at ${amountText(data.looked, "record")} so far`
        }
      >
        {data !== null && <NoRecords data={data} filter={filter} />}
      </ListPanel>
    </>
  );
}

function noteOf({ records, next }: RecordList): string {
  return next === null
    ? amountText(records.length, "record")
    : `${amountText(records.length, "record")} on this page`;
}

interface Filter {
  readonly search: string | null;
  readonly outcome: string | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly prefix: string | null;
}

function RecordFilter({ filter }: { readonly filter: Filter }) {
  const [search, setSearch] = useState(filter.search ?? "");
  const [since, setSince] = useState(fieldTime(filter.since));
  const [until, setUntil] = useState(fieldTime(filter.until));
  const submit = (event: Event) => {
    event.preventDefault();
    const times = { since: queryTime(since), until: queryTime(until) };
    goTo(linkTo(["records"], { ...filter, search: search.trim(), ...times }));
  };
  return (
    <search>
      <form class="filters" onSubmit={submit}>
        <TextField
          label="Object, record key, event id or business key"
          type="search"
          value={search}
          onValue={setSearch}
          placeholder="s3://bucket/key, or a part of a name"
          wide
        />
        <Choice
          label="Outcome"
          value={filter.outcome ?? ""}
          onValue={(outcome) => goTo(linkTo(["records"], { ...filter, outcome }))}
          options={OUTCOMES}
        />
        <TextField
          label="Event time from (UTC)"
          type="datetime-local"
          value={since}
          onValue={setSince}
        />
        <TextField label="and before" type="datetime-local" value={until} onValue={setUntil} />
        <button type="submit" data-tone="accent">
          Search
        </button>
      </form>
    </search>
  );
}

/** A field of the browser has no time zone; the page means UTC everywhere. */
function fieldTime(query: string | null): string {
  const at = new Date(Number(query));
  return query === null || Number.isNaN(at.getTime()) ? "" : at.toISOString().slice(0, FIELD_CHARS);
}

function queryTime(field: string): string | null {
  const at = Date.parse(`${field}Z`);
  return Number.isNaN(at) ? null : String(at);
}

function NoRecords({ data, filter }: { readonly data: RecordList; readonly filter: Filter }) {
  if (!data.complete) {
    return (
      <Empty title="Nothing among the newest records">
        The search looked at {amountText(data.looked, "record")}. Continue it with “Next page”, or
        search for a whole object: s3://bucket/key.
      </Empty>
    );
  }
  const { search, outcome, since, until } = filter;
  const isFiltered = [search, outcome, since, until].some((value) => value !== null);
  return isFiltered ? (
    <Empty title="No record matches">
      Check the spelling, or <a href={linkTo(["records"])}>remove the filter</a>. Records that were
      never received are still <a href={linkTo(["queues"])}>in the queue</a>.
    </Empty>
  ) : (
    <Empty title="No records yet">
      Upload a file in <a href={linkTo(["buckets"])}>Buckets</a>; the pipeline records it when it
      receives the notification.
    </Empty>
  );
}
