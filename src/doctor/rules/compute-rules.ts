// Compute rules: how messages reach the program that processes them, and how much of it runs.

import type { Rule } from "../rule.ts";
import { forQueues } from "./dead-letter-rules.ts";
import { nameIn } from "./words.ts";

export const COMPUTE_RULES: readonly Rule[] = [
  {
    id: "TGD023",
    name: "receives-one",
    title: "Receive limit of one",
    severity: "warning",
    risk: "delay",
    consequence:
      "Nothing is retried: a crash, a deployment or an expired timeout makes a dead letter at once.",
    fix: "Set maxReceiveCount to at least 5, or 25 behind a pipeline.",
    check: forQueues(({ queue, pipeline }) =>
      queue.redrive?.maxReceiveCount !== 1 || pipeline !== null
        ? null
        : `queue ${queue.name} moves a message after one receive, so every crash or deployment ` +
          `makes dead letters; set maxReceiveCount to at least 5`,
    ),
  },
  {
    id: "TGD024",
    name: "pipe-fire-and-forget",
    title: "EventBridge pipe that does not wait for its target",
    severity: "error",
    risk: "loss",
    consequence:
      "The pipe deletes the message as soon as the target is started. A run that fails loses its message.",
    fix: "Set REQUEST_RESPONSE with an express state machine, or let the target delete the message.",
    check: ({ pipes }) =>
      pipes.flatMap(({ location, sourceArn, forgets }) => {
        if (forgets !== true || !sourceArn.startsWith("arn:aws:sqs:")) return [];
        const message =
          `pipe ${location.name} starts its target with FIRE_AND_FORGET and deletes the message ` +
          `of ${nameIn(sourceArn)} then, so a run that fails loses it; set REQUEST_RESPONSE`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD025",
    name: "scaling-by-cpu",
    title: "Consumer that scales by processor or memory",
    severity: "warning",
    risk: "delay",
    consequence:
      "A consumer that waits for a database or a service uses little of either, so its backlog grows and nothing scales.",
    fix: "Scale by the backlog per task: ApproximateNumberOfMessagesVisible divided by the tasks.",
    check: ({ scalings, queues, servesRequests }) => {
      if (queues.length === 0 || servesRequests) return [];
      if (scalings.some(({ by }) => by === "other")) return [];
      return scalings.map(({ location, by }) => ({
        location,
        message:
          `${location.name} scales by ${by === "cpu" ? "processor time" : "memory"}, which does ` +
          `not grow with the backlog; scale by messages per task`,
      }));
    },
  },
  {
    id: "TGD026",
    name: "image-by-tag",
    title: "Container image without a digest",
    severity: "warning",
    risk: "blindness",
    consequence:
      "A tag can be moved, so two tasks may run different code, and no one can tell which.",
    fix: "Name the image by its digest: repository@sha256:...",
    check: ({ images, queues }) =>
      queues.length === 0
        ? []
        : images
            .filter(({ image }) => !image.includes("@sha256:"))
            .map(({ image, location }) => ({
              location,
              message: `image ${image} is named by a tag, which can be moved; name its digest`,
            })),
  },
];
