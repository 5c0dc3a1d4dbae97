// Replays: past records that ran again, and what became of each run.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Badge, Heading, type Tone } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

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
  const cursor = useCursor();
  const path = useScopedPath("/replays", { cursor });
  const loaded = useLoad<ApiSchema["ReplayList"]>(path, LIVE_MS);
  return (
    <>
      <Heading
        title="Replays"
        crumbs={[{ text: "Time", href: linkTo(["time"]) }]}
        lead="Past records through the pipeline again, beside the live tables."
      />
      <ListPanel
        label="Replays"
        note="newest first"
        loaded={loaded}
        items={({ replays }) => replays}
        columns={COLUMNS}
        keyOf={({ run }) => run}
        link={[["replays"]]}
      >
        <Empty title="No replays">
          Start one with <code>tidegate replay pipeline.ts --from TIME --to TIME</code>. It writes
          to shadow tables, and this page compares them with the live ones.
        </Empty>
      </ListPanel>
      <CommandLine text="tidegate replay list" />
    </>
  );
}
