// Call: the request as an action sees it, and the type of an action.

import type { Refusal, Result } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { Broker } from "../../engine/broker.ts";
import type { Fault } from "../../model/fault.ts";
import type { Authority, RequestCaller } from "../auth/access-key.ts";
import type { StructureShape } from "./shape.ts";
import { compileCheck, type ShapeCheck } from "./shape-check.ts";

/** State shared by all requests. */
export interface ServerContext {
  readonly broker: Broker;
  /** What signatures are checked against; null if they are not checked. */
  readonly authority: Authority | null;
  /** Who calls where no signatures are checked. */
  readonly everybody: RequestCaller;
  /** Host in queue URLs when the request has no Host header. */
  readonly hostFallback: string;
  /** Called for every failure that the client did not cause. */
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface RequestCall {
  readonly server: ServerContext;
  readonly request: HttpRequest;
  readonly caller: RequestCaller;
  readonly protocol: "json" | "query";
}

export type RefusedAction = Refusal<Fault>;

export type ActionAnswer<O> = Result<O, Fault> | Promise<Result<O, Fault>>;

/** One action of a service; both protocols run it. */
export interface Action {
  readonly name: string;
  readonly input: StructureShape;
  /** Null: the response has no output. */
  readonly output: StructureShape | null;
  readonly check: ShapeCheck;
  run(call: RequestCall, input: object): ActionAnswer<object | null>;
  /** Writes the JSON response; hand-written for hot actions. */
  writeJson(output: object): string;
}

interface ActionDefinition<I, O> {
  readonly name: string;
  readonly input: StructureShape<I>;
  readonly output: StructureShape<O> | null;
  run(call: RequestCall, input: NoInfer<I>): ActionAnswer<NoInfer<O>>;
  writeJson?(output: NoInfer<O>): string;
}

/** Type-checks an action's code against its input and output shapes. */
export function action<I, O = null>(definition: ActionDefinition<I, O>): Action {
  // The protocols only pass `run` inputs that passed `check`, so this one cast drops the types.
  const typed = definition as unknown as Pick<Action, "run"> & Partial<Pick<Action, "writeJson">>;
  return {
    name: definition.name,
    input: definition.input,
    output: definition.output,
    check: compileCheck(definition.input),
    run: typed.run,
    writeJson: typed.writeJson ?? JSON.stringify,
  };
}
