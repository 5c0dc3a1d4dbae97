// Page attacks: what a web page can send to a server of another origin without asking, and a proxy
// that records what arrives.

import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

interface ArrivedRequest {
  readonly host: string;
  readonly method: string;
  readonly url: string;
  /** Sec-Fetch-Site or else Origin, by which a browser declares a page; undefined without both. */
  readonly from: string | undefined;
  readonly status: number;
}

export interface RecordingProxy {
  readonly port: number;
  /** Requests that were answered. */
  readonly arrived: readonly ArrivedRequest[];
  close(): Promise<void>;
}

/** Passes every request on to a server on loopback, with its headers as they are. */
export async function startRecordingProxy(to: number): Promise<RecordingProxy> {
  const arrived: ArrivedRequest[] = [];
  const proxy = createServer((request, response) => {
    const { method = "", url = "", headers, rawHeaders } = request;
    const options = { host: "127.0.0.1", port: to, method, path: url, headers: rawHeaders };
    const passed = sendRequest(options, (reply) => {
      const status = reply.statusCode ?? 0;
      const from = (headers["sec-fetch-site"] as string | undefined) ?? headers.origin;
      response.writeHead(status, reply.headers);
      reply.pipe(response);
      reply.on("end", () => {
        arrived.push({ host: headers.host ?? "", method, url, from, status });
      });
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  };
  return { port: (proxy.address() as AddressInfo).port, arrived, close };
}

/** What the script of a page says about its requests. */
export interface PageOutcome {
  /** Texts that the page could read. */
  readonly read: readonly string[];
  /** Beacons that the browser accepted for sending; they arrive later. */
  readonly beacons: number;
}

/** Ports of the servers that the page attacks. */
export interface AttackedPorts {
  readonly cloud: number;
  readonly console: number;
  readonly metrics: number;
}

/** A script whose value is a PageOutcome. `tag` makes the names of what it creates unique. */
export function attackScript(host: string, ports: AttackedPorts, tag: string): string {
  return `(${ATTACK})(${JSON.stringify({ host, ports, tag })})`;
}

const ATTACK = `async ({ host, ports, tag }) => {
  const read = [];
  let beacons = 0;
  const at = (port, path) => "http://" + host + ":" + port + path;
  const settled = (element, place = document.body) => new Promise((resolve) => {
    element.onload = resolve;
    element.onerror = resolve;
    place.append(element);
  });
  const made = (name, properties) => Object.assign(document.createElement(name), properties);
  const text = async (url, init) => {
    const answer = await (await fetch(url, init)).text();
    if (answer !== "") read.push(url + " " + answer);
  };
  const submit = (method, url, fields, enctype) => {
    const name = "frame" + Math.random();
    const form = made("form", { method, action: url, target: name, enctype });
    for (const [key, value] of fields) form.append(made("input", { name: key, value }));
    document.body.append(form);
    const frame = made("iframe", { name });
    document.body.append(frame);
    return new Promise((resolve) => {
      frame.onload = resolve;
      form.submit();
    });
  };
  const gets = {
    image: (url) => settled(made("img", { src: url })),
    script: (url) => settled(made("script", { src: url })),
    style: (url) => settled(made("link", { rel: "stylesheet", href: url }), document.head),
    prefetch: (url) => settled(made("link", { rel: "prefetch", href: url }), document.head),
    cors: (url) => text(url),
    nocors: (url) => fetch(url, { mode: "no-cors" }),
    keepalive: (url) => fetch(url, { mode: "no-cors", keepalive: true, referrerPolicy: "no-referrer" }),
    events: (url) => new Promise((resolve) => {
      const events = new EventSource(url);
      events.onmessage = (event) => read.push(url + " " + event.data);
      events.onerror = () => resolve(events.close());
    }),
    socket: (url) => new Promise((resolve) => {
      const socket = new WebSocket(url.replace("http:", "ws:"));
      socket.onmessage = (event) => read.push(url + " " + event.data);
      socket.onopen = () => read.push(url + " opened");
      socket.onclose = resolve;
    }),
  };
  const shown = {
    frame: (url) => settled(made("iframe", { src: url })),
    form: (url) => submit("GET", url, [...new URL(url).searchParams]),
  };
  const changes = (kind) => [
    "/?Action=CreateQueue&QueueName=sqs-" + kind + tag,
    "/000000000000/secret-orders?Action=SendMessage&MessageBody=sent-" + kind + tag,
    "/000000000000/victim?Action=DeleteQueue",
    "/?Action=CreateTopic&Name=sns-" + kind + tag,
    "/?Action=CreateQueue&QueueName=signed-" + kind + tag +
      "&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a%2F20260302%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Signature=00",
  ];
  const reads = [
    at(ports.cloud, "/vault/gold.txt"),
    at(ports.cloud, "/_tidegate/queues"),
    at(ports.cloud, "/_tidegate/metrics"),
    at(ports.cloud, "/_tidegate/api/v1/queues"),
    at(ports.console, "/_tidegate/api/v1/session"),
    at(ports.metrics, "/metrics"),
    at(ports.metrics, "/health"),
  ];
  const posts = (kind) => [
    [at(ports.cloud, "/"), "Action=CreateQueue&QueueName=posted-" + kind + tag],
    [at(ports.cloud, "/"), "Action=CreateTopic&Name=posted-" + kind + tag],
    [at(ports.cloud, "/?Action=CreateQueue&QueueName=queried-" + kind + tag), ""],
    [at(ports.cloud, "/vault?delete"), "<Delete><Object><Key>gold.txt</Key></Object></Delete>"],
    [at(ports.cloud, "/vault?uploads"), ""],
    [at(ports.cloud, "/_tidegate/faults"), '{"target":"queue","kind":"error"}'],
    [at(ports.cloud, "/_tidegate/api/v1/queues/secret-orders/purge"), '{"confirm":"secret-orders"}'],
    [at(ports.console, "/_tidegate/api/v1/login"), '{"token":"a"}'],
    [at(ports.metrics, "/metrics"), "a=b"],
  ];
  const plain = (body) => new Blob([body], { type: "text/plain" });
  const bodies = {
    form: (body) => new URLSearchParams(body),
    plain: (body) => plain(body),
    untyped: (body) => new Blob([body]),
  };
  const runs = [];
  for (const [kind, send] of Object.entries({ ...gets, ...shown })) {
    for (const path of changes(kind)) runs.push(send(at(ports.cloud, path)));
  }
  for (const send of Object.values(gets)) for (const url of reads) runs.push(send(url));
  for (const [kind, bodyOf] of Object.entries(bodies)) {
    for (const [url, body] of posts("fetch" + kind)) {
      for (const mode of ["no-cors", "cors"]) {
        runs.push(text(url, { method: "POST", mode, body: bodyOf(body) }));
      }
    }
    for (const [url, body] of posts("beacon" + kind)) {
      if (navigator.sendBeacon(url + (url.includes("?") ? "&" : "?") + "beacon", bodyOf(body))) beacons += 1;
    }
  }
  for (const enctype of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
    for (const [url, body] of posts("form" + enctype.length)) {
      runs.push(submit("POST", url, [...new URLSearchParams(body)], enctype));
    }
  }
  for (const method of ["PUT", "DELETE"]) {
    runs.push(text(at(ports.cloud, "/vault/gold.txt"), { method, body: method === "PUT" ? "lead" : undefined }));
  }
  const target = { "x-amz-target": "AmazonSQS.CreateQueue", "content-type": "application/x-amz-json-1.0" };
  runs.push(text(at(ports.cloud, "/"), { method: "POST", headers: target, body: '{"QueueName":"target' + tag + '"}' }));
  const signature = "AWS4-HMAC-SHA256 Credential=a/20260302/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00";
  for (const mode of ["cors", "no-cors"]) {
    const url = at(ports.cloud, "/?Action=CreateQueue&QueueName=header" + mode + tag);
    runs.push(text(url, { mode, headers: { authorization: signature } }));
  }
  await Promise.allSettled(runs);
  return { read, beacons };
}`;
