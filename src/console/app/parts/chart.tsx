// Chart: lines over time, drawn by uPlot.
//   H1. The caption shows the value under the pointer, else the latest one. So the numbers are
//       text, and the picture needs no other description.
//   H2. Colours come from the style sheet, and follow a change between light and dark.
//   H3. The height is fixed before there is data: nothing moves when it arrives.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clockText } from "../data/format.ts";

export interface ChartLine {
  readonly title: string;
  readonly values: readonly (number | null)[];
  readonly color: "accent" | "second" | "bad";
}

interface ChartProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly format: (value: number | null) => string;
  /** Counts: no fractions on the axis. */
  readonly whole?: boolean;
}

const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 5e4, 1e5, 1e6, 1e7];
/** What the axis shows at least, so that the first minutes do not look like a whole hour. */
const SPAN_SECONDS_MIN = 600;
const HEIGHT = 132;
const COLORS = { accent: "--accent", second: "--muted", bad: "--bad" } as const;

export function Chart({ title, times, lines, format, whole = false }: ChartProps) {
  const [index, setIndex] = useState<number | null>(null);
  const hasData = lines.some(({ values }) => values.some((value) => value !== null));
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        {lines.map(({ title: name, values, color }) => (
          <span key={name} class="key" data-line={color}>
            {name} {format(index === null ? lastOf(values) : (values[index] ?? null))}
          </span>
        ))}
      </figcaption>
      {hasData && times.length > 1 ? (
        <Canvas times={times} lines={lines} format={format} whole={whole} onIndex={setIndex} />
      ) : (
        <div class="canvas empty-canvas">No data yet</div>
      )}
    </figure>
  );
}

interface CanvasProps extends Omit<ChartProps, "title"> {
  readonly onIndex: (index: number | null) => void;
}

function Canvas({ times, lines, format, whole = false, onIndex }: CanvasProps) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [times.map((at) => at / 1_000), ...lines.map(({ values }) => values)];
  const latest = useRef(data);
  latest.current = data;
  const kinds = lines.map(({ color }) => color).join();
  // Data is set below, so only other kinds of lines need another plot.
  useEffect(() => {
    const box = element.current;
    if (box === null) return;
    const draw = () => {
      plot.current?.destroy();
      const options = optionsOf(box, { times, lines, format, whole, onIndex });
      plot.current = new uPlot(options, latest.current as uPlot.AlignedData, box);
    };
    draw();
    const sizes = new ResizeObserver(() => {
      plot.current?.setSize({ width: box.clientWidth, height: HEIGHT });
    });
    sizes.observe(box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw); // H2
    return () => {
      scheme.removeEventListener("change", draw);
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [kinds]);
  useEffect(() => plot.current?.setData(latest.current as uPlot.AlignedData));
  return <div class="canvas" ref={element} aria-hidden="true" />; // H1
}

function optionsOf(
  box: HTMLElement,
  { lines, format, whole = false, onIndex }: CanvasProps,
): uPlot.Options {
  const style = getComputedStyle(box);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color("--muted"),
    font: `11px ${color("--sans")}`,
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [6, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { range: (_plot, from, to) => [Math.min(from, to - SPAN_SECONDS_MIN), to] },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 24, space: 64, values: (_plot, at) => at.map((s) => clockText(s * 1_000)) },
      {
        ...axis,
        size: 62,
        space: 34,
        values: (_plot, at) => at.map((value) => format(value)),
        ...(whole ? { incrs: WHOLE_STEPS } : {}),
      },
    ],
    series: [
      {},
      ...lines.map((line, position) => ({
        stroke: color(COLORS[line.color]),
        width: 1.6,
        spanGaps: false,
        points: { show: false },
        ...(position === 0 ? { fill: `${color(COLORS[line.color])}1f` } : {}),
      })),
    ],
    hooks: { setCursor: [(drawn) => onIndex(drawn.cursor.idx ?? null)] },
  };
}

function lastOf(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** A small line without axes, for a row of a table. The numbers are in the row as text. */
export function Sparkline({ counts }: { readonly counts: readonly number[] }) {
  const high = Math.max(1, ...counts);
  const step = 94 / Math.max(1, counts.length - 1);
  const points = counts.map((count, index) => {
    const x = 1 + index * step;
    const y = 20 - (count / high) * 18;
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox="0 0 96 22" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
