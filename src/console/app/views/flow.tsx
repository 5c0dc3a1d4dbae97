// Flow: the first page. Problems come first, because people look here when something is wrong.

import type { ApiSchema } from "../../api/api-schema.ts";
import { countText, durationText, rateText, sentence } from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { useScopedPath, useSession } from "../data/session.ts";
import { type Loaded, useLoad } from "../data/use-load.ts";
import { Chart, type ChartLine } from "../parts/chart.tsx";
import { Heading, Panel } from "../parts/layout.tsx";
import { LinkedText } from "../parts/linked-text.tsx";
import { Empty, LoadError, Notice, Waiting } from "../parts/notices.tsx";
import { FlowPicture } from "./flow-picture.tsx";
import { PauseControl } from "./pause-control.tsx";

type Flow = ApiSchema["Flow"];
type Problem = ApiSchema["Problem"];
type History = ApiSchema["FlowHistory"];
type SeriesName = History["series"][number]["name"];

const HISTORY_MS = 5_000;

export function FlowScreen({ loaded }: { readonly loaded: Loaded<Flow> }) {
  const { data: flow } = loaded;
  return (
    <>
      <Heading title="Flow">
        {flow !== null && <PauseControl flow={flow} onChange={loaded.reload} />}
      </Heading>
      <LoadError loaded={loaded} what="Flow" />
      {flow !== null && <Problems problems={flow.problems} />}
      {flow === null && loaded.error === null && <Waiting rows={8} />}
      {flow !== null && flow.nodes.length > 0 && <FlowPicture flow={flow} />}
      {flow !== null && flow.nodes.length === 0 && (
        <Panel title="Data flow" flush>
          <Empty title="No pipeline yet">
            Start one with <code>tidegate dev pipeline.ts</code>, or open the console with{" "}
            <code>--ledger</code> of a running one.
          </Empty>
        </Panel>
      )}
      <LastHour />
    </>
  );
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  if (problems.length === 0) {
    return (
      <Notice tone="good" title="No problems" live>
        Everything that arrived is moving.
      </Notice>
    );
  }
  return (
    <div class="problems" role="status">
      {problems.map(({ id, severity, title, detail, fix, view, query }) => (
        <Notice
          key={id}
          tone={severity === "error" ? "bad" : "warn"}
          title={sentence(title)}
          action={
            <a class="button" href={problemLink(view, query)}>
              Show
            </a>
          }
        >
          <p>
            <LinkedText text={asSentence(detail)} /> {fix}
          </p>
        </Notice>
      ))}
    </div>
  );
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? sentence(text) : `${sentence(text)}.`;
}

function problemLink(view: Problem["view"], query: string): string {
  return linkTo([view], Object.fromEntries(new URLSearchParams(query)));
}

function LastHour() {
  const { session } = useSession();
  const everyMs = Math.max(HISTORY_MS, session.pollMs);
  const loaded = useLoad<History>(useScopedPath("/flow/history"), everyMs);
  const history = loaded.data ?? { times: [], series: [], stepMs: 0 };
  const line = (name: SeriesName, color: ChartLine["color"]): ChartLine => {
    const series = history.series.find((each) => each.name === name);
    return { title: sentence(series?.title ?? name), values: series?.values ?? [], color };
  };
  const { times } = history;
  return (
    <Panel title="Last hour" note="UTC">
      <LoadError loaded={loaded} what="Last hour" />
      <div class="charts">
        <Chart
          title="Throughput"
          times={times}
          lines={[line("received", "accent"), line("applied", "second"), line("retries", "bad")]}
          format={rateText}
        />
        <Chart
          title="Queue"
          times={times}
          lines={[line("backlog", "accent"), line("inFlight", "second")]}
          format={countText}
          whole
        />
        <Chart
          title="Oldest message"
          times={times}
          lines={[line("oldestAgeMs", "accent")]}
          format={durationText}
        />
        <Chart
          title="Event time"
          times={times}
          lines={[line("watermarkLagMs", "accent")]}
          format={durationText}
        />
        <Chart
          title="Dead letters"
          times={times}
          lines={[line("deadLetters", "bad")]}
          format={countText}
          whole
        />
      </div>
    </Panel>
  );
}
