// Flow picture: bucket, topic, queue, pipeline and sink in the order in which data flows, with live
// numbers on each. Every number is a link to what it counts.
//   P1. A hop moves while events pass it, and rests otherwise.
//   P2. A node with a problem shows the problem itself, not only a colour.

import type { ComponentChildren } from "preact";
import type { ApiSchema } from "../../api/api-schema.ts";
import { countText, durationText, rateText, sentence, timeText } from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { Icon, type IconName } from "../parts/icons.tsx";

type FlowNode = ApiSchema["FlowNode"];
type Flow = ApiSchema["Flow"];

interface Line {
  readonly label: string;
  readonly value: string;
  readonly href: string;
  readonly tone?: "bad" | "warn" | undefined;
}

const ICONS: Readonly<Record<FlowNode["id"], IconName>> = {
  bucket: "bucket",
  topic: "topic",
  queue: "queue",
  pipeline: "pipeline",
  sink: "sink",
  "dead-letters": "letters",
};

const MAIN: readonly FlowNode["id"][] = ["bucket", "topic", "queue", "pipeline", "sink"];

export function FlowPicture({ flow }: { readonly flow: Flow }) {
  const nodes = MAIN.flatMap((id) => flow.nodes.filter((node) => node.id === id));
  const deadLetters = flow.nodes.find(({ id }) => id === "dead-letters");
  const parts: ComponentChildren[] = [];
  for (const [index, node] of nodes.entries()) {
    const previous = nodes[index - 1];
    if (previous !== undefined) {
      const rate = hopRate(flow, previous.id, node.id);
      parts.push(<Hop key={`to ${node.id}`} perSecond={rate} />);
    }
    parts.push(
      <div key={node.id} class="flow-column" data-node={node.id}>
        <NodeCard node={node} flow={flow} />
        {node.id === "pipeline" && deadLetters !== undefined && (
          <>
            <Hop perSecond={hopRate(flow, "pipeline", "dead-letters")} tone="bad" branch />
            <NodeCard node={deadLetters} flow={flow} />
          </>
        )}
      </div>,
    );
  }
  return (
    <section class="flow" aria-label="Data flow">
      {parts}
    </section>
  );
}

function hopRate({ hops }: Flow, from: string, to: string): number | null {
  return hops.find((hop) => hop.from === from && hop.to === to)?.perSecond ?? null;
}

interface HopProps {
  readonly perSecond: number | null;
  readonly tone?: "bad";
  readonly branch?: boolean;
}

/** P1 */
function Hop({ perSecond, tone, branch = false }: HopProps) {
  const moving = perSecond !== null && perSecond > 0;
  return (
    <div class="hop" data-tone={tone} data-moving={moving} data-branch={branch}>
      <span class="rate">{perSecond === null ? "" : rateText(perSecond)}</span>
      <svg viewBox="0 0 40 12" preserveAspectRatio="none" aria-hidden="true">
        <line x1="0" y1="6" x2="40" y2="6" vector-effect="non-scaling-stroke" />
      </svg>
      <svg class="head" viewBox="0 0 8 12" aria-hidden="true">
        <path d="M1 1l6 5-6 5" />
      </svg>
    </div>
  );
}

function NodeCard({ node, flow }: { readonly node: FlowNode; readonly flow: Flow }) {
  const problems = flow.problems.filter((problem) => problem.node === node.id);
  const { perSecond } = node.metrics;
  return (
    <article
      class="node"
      data-node={node.id}
      data-state={node.state}
      aria-label={`${node.title} ${node.name}`}
    >
      <header>
        <Icon name={ICONS[node.id]} />
        <span class="kind">{sentence(node.title)}</span>
        {node.id !== "dead-letters" && (
          <a class="speed" href={homeOf(node)} aria-label={`Rate: ${rateText(perSecond)}`}>
            {rateText(perSecond)}
          </a>
        )}
      </header>
      <a class="name" href={homeOf(node)}>
        {node.name}
      </a>
      <dl>
        {linesOf(node).map(({ label, value, href, tone }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class={tone ?? ""}>
              <a href={href}>{value}</a>
            </dd>
          </div>
        ))}
      </dl>
      {problems.map(({ id, title }) => (
        <p key={id} class="problem">
          {sentence(title)}
        </p>
      ))}
    </article>
  );
}

/** The view of a node itself. */
function homeOf({ id, name }: FlowNode): string {
  switch (id) {
    case "bucket":
      return linkTo(["buckets", name]);
    case "topic":
      return linkTo(["topics"], { name });
    case "queue":
      return linkTo(["queues", name]);
    case "pipeline":
      return linkTo(["records"]);
    case "sink":
      return linkTo(["records"], { outcome: "committed" });
    case "dead-letters":
      return linkTo(["dead-letters"]);
  }
}

/** The numbers that a node has, in the order of importance. */
function linesOf(node: FlowNode): Line[] {
  const { metrics, id } = node;
  const home = homeOf(node);
  const queueHome = linkTo(["queues", node.name]);
  const records = (outcome: string) => linkTo(["records"], { outcome });
  const isEnd = id === "dead-letters"; // Messages there do not move, so only their number counts.
  const lines: (Line | null)[] = [
    line(isEnd ? "Messages" : "Waiting", metrics.backlog, isEnd ? queueHome : home),
    isEnd
      ? null
      : line("In flight", metrics.inFlight, id === "pipeline" ? records("in-progress") : home),
    metrics.oldestAgeMs === null
      ? null
      : { label: "Oldest", value: durationText(metrics.oldestAgeMs), href: home },
    line("Retries", metrics.retries, records("retrying")),
    line("Duplicates", metrics.duplicates, linkTo(["records"])),
    metrics.deadLetters === null ? null : deadLetterLine(node),
    timeLine("Watermark", metrics.watermark),
    timeLine("Complete up to", metrics.completeUpTo),
    isEnd ? null : line("Total", metrics.total, home),
  ];
  return lines.filter((each) => each !== null);
}

function line(label: string, value: number | null, href: string): Line | null {
  return value === null ? null : { label, value: countText(value), href };
}

function deadLetterLine({ metrics }: FlowNode): Line {
  const count = metrics.deadLetters ?? 0;
  const more = metrics.deadLettersMore ? "+" : "";
  return {
    label: "Dead letters",
    value: `${countText(count)}${more}`,
    href: linkTo(["dead-letters"]),
    tone: count > 0 ? "bad" : undefined,
  };
}

function timeLine(label: string, at: number | null): Line | null {
  return at === null ? null : { label, value: timeText(at), href: linkTo(["time"]) };
}
