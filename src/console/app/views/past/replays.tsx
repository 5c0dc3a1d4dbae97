// Replays: past records that ran again, and what became of each run.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath, useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Badge, Heading, Panel, type Tone } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { Pager, type RowColumn, Rows } from "../../parts/rows.tsx";

type Replay = ApiSchema["Replay"];

const TONES: Readonly<Record<Replay["state"], Tone>> = {
  running: "accent",
  ready: "accent",
  promoted: "good",
  complete: "good",
  stopped: "warn",
  cancelled: "none",
  failed: "bad",
  unknown: "none",
};

export function ReplayBadge({ state }: { readonly state: Replay["state"] }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

const COLUMNS: readonly RowColumn<Replay>[] = [
  {
    label: "Replay",
    cell: ({ run }) => (
      <a class="mono" href={linkTo(["replays", run])}>
        {run}
      </a>
    ),
  },
  { label: "State", kind: "tight", cell: ({ state }) => <ReplayBadge state={state} /> },
  { label: "Into", kind: "tight", cell: ({ into }) => into },
  { label: "From", kind: "tight", cell: ({ from }) => timeText(from) },
  { label: "To", kind: "tight", cell: ({ to }) => timeText(to) },
  { label: "Records", kind: "number", cell: ({ inputs }) => countText(inputs) },
  { label: "Failed", kind: "number", cell: ({ outcome }) => countText(outcome?.failed ?? null) },
  { label: "Created", kind: "tight", cell: ({ createdAt }) => timeText(createdAt) },
];

export function ReplaysScreen() {
  const { route } = useSession();
  const cursor = route.query.get("cursor");
  const path = useScopedPath("/replays", { cursor });
  const loaded = useLoad<ApiSchema["ReplayList"]>(path, LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading
        title="Replays"
        crumbs={[{ text: "Time", href: linkTo(["time"]) }]}
        lead="Past records through the pipeline again, beside the live tables."
      />
      <LoadError loaded={loaded} what="Replays" />
      <Panel title="Replays" note="newest first" flush>
        {data === null && loaded.error === null && <Waiting rows={6} />}
        {data !== null && data.replays.length > 0 && (
          <Rows label="Replays" columns={COLUMNS} items={data.replays} keyOf={({ run }) => run} />
        )}
        {data !== null && data.replays.length === 0 && (
          <Empty title="No replays">
            Start one with <code>tidegate replay pipeline.ts --from TIME --to TIME</code>. It writes
            to shadow tables, and this page compares them with the live ones.
          </Empty>
        )}
        {data !== null && (data.next !== null || cursor !== null) && (
          <Pager
            note=""
            first={cursor === null ? null : linkTo(["replays"])}
            next={data.next === null ? null : linkTo(["replays"], { cursor: data.next })}
          />
        )}
      </Panel>
      <CommandLine text="tidegate replay list" />
    </>
  );
}
