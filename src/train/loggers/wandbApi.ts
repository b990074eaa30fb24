/**
 * @file Weights & Biases over HTTP: a run is made or found through GraphQL, its history is posted to a stream of lines.
 *
 * Requests that meet a fault of the network or of the server are tried again, each time after a longer wait; lines are
 * posted with the number of the first of them, so that sending them twice does no harm.
 */
import { LockstepError } from "../../platform/errors.ts";
import { printable } from "./format.ts";
import { later } from "./timer.ts";

/** Weights & Biases cannot be used, or does not answer as it should. */
export class WandbError extends LockstepError {
  override readonly name = "WandbError";
}

export interface WandbServer {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds before the second try; doubled before each further one. */
  readonly backoff: number;
}

/** Variables that name a run; without an entity, one of the key's default entity. */
export interface RunName {
  readonly name: string;
  readonly project: string;
  readonly entity: string | undefined;
}

/** Where a run is found. */
export interface WandbRun {
  readonly entity: string;
  readonly project: string;
  readonly id: string;
}

/** What the server has of a run already. */
export interface WandbPosition {
  readonly lines: number;
  /** The step of the last line; -1 when there is none. */
  readonly step: number;
}

/** A post to the stream of a run's files. */
export interface StreamPost {
  readonly files?: { readonly [name: string]: { readonly offset: number; readonly content: readonly string[] } };
  readonly complete?: boolean;
  readonly exitcode?: number;
}

const TRIES = 5;
const TIMEOUT_MS = 15_000;
/** Answers that another try may change: too slow, too many requests, and all faults of the server itself. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const UPSERT = `mutation UpsertBucket(
  $name: String, $project: String, $entity: String, $displayName: String, $config: JSONString
) {
  upsertBucket(input: {
    name: $name, modelName: $project, entityName: $entity, displayName: $displayName, config: $config
  }) {
    bucket { id name project { name entity { name } } }
  }
}`;

const POSITION = `query RunResumeStatus($name: String!, $project: String, $entity: String) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { name historyLineCount historyTail }
  }
}`;

/** The value under some keys of an answer, whatever its form; undefined when there is none. */
function at(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as { readonly [key: string]: unknown })[key];
  }
  return found;
}

function parsed(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The step of the last of some history lines, which come as JSON in a list that is JSON itself. */
function lastStep(tail: unknown): number {
  const lines = parsed(tail);
  const step = Array.isArray(lines) ? at(parsed(lines.at(-1)), "_step") : undefined;
  return typeof step === "number" ? step : -1;
}

const shortened = (text: string): string => printable(text).slice(0, 200);

export class WandbApi {
  private readonly server: WandbServer;
  private readonly base: string;
  private readonly stop = new AbortController();

  constructor(server: WandbServer) {
    if (!/^[\x21-\x7e]+$/.test(server.apiKey)) {
      throw new WandbError("the Weights & Biases key is empty or has characters that no key has; check WANDB_API_KEY");
    }
    if (!/^https?:\/\/[^\s/]/.test(server.baseUrl)) {
      throw new WandbError(
        `the Weights & Biases address is "${server.baseUrl}", expected one like https://api.wandb.ai`,
      );
    }
    this.server = server;
    this.base = server.baseUrl.replace(/\/+$/, "");
  }

  /** Ends what is under way; nothing is sent any more. */
  abort(): void {
    this.stop.abort();
  }

  /** Makes a run, or finds the one of this name, and says where it is. */
  async upsertRun(variables: RunName & { readonly displayName: string; readonly config: string }): Promise<WandbRun> {
    const bucket = at(await this.query(UPSERT, variables), "upsertBucket", "bucket");
    const id = at(bucket, "name");
    const project = at(bucket, "project", "name");
    const entity = at(bucket, "project", "entity", "name");
    if (typeof id !== "string" || typeof project !== "string" || typeof entity !== "string") {
      throw new WandbError("the server's answer does not name the run");
    }
    return { entity, project, id };
  }

  /** How far the history of a run goes. */
  async position(variables: RunName): Promise<WandbPosition> {
    const bucket = at(await this.query(POSITION, variables), "model", "bucket");
    const lines = at(bucket, "historyLineCount");
    return {
      lines: typeof lines === "number" && lines > 0 ? Math.floor(lines) : 0,
      step: lastStep(at(bucket, "historyTail")),
    };
  }

  async postStream({ entity, project, id }: WandbRun, post: StreamPost): Promise<void> {
    const path = [entity, project, id].map(encodeURIComponent).join("/");
    const response = await this.post(`/files/${path}/file_stream`, post);
    await response.body?.cancel();
  }

  /** The page of a run. */
  pageOf({ entity, project, id }: WandbRun): string {
    const site = this.base.replace("://api.", "://");
    return `${site}/${[entity, project].map(encodeURIComponent).join("/")}/runs/${encodeURIComponent(id)}`;
  }

  private async query(query: string, variables: object): Promise<unknown> {
    const response = await this.post("/graphql", { query, variables });
    const answer = parsed(await response.text());
    const errors = at(answer, "errors");
    if (Array.isArray(errors) && errors.length > 0) {
      throw new WandbError(`the server refused: ${shortened(String(at(errors[0], "message") ?? "no reason given"))}`);
    }
    return at(answer, "data");
  }

  /** Posts JSON until it is accepted, refused for good, or tried too often. */
  private async post(path: string, body: object): Promise<Response> {
    let fault = "";
    for (let tried = 0; tried < TRIES; tried++) {
      if (tried > 0) await this.pause(this.server.backoff * 2 ** (tried - 1));
      if (this.stop.signal.aborted) throw new WandbError("sending was given up");
      try {
        const response = await this.attempt(path, body);
        if (response.ok) return response;
        fault = `status ${response.status}: ${shortened(await response.text())}`;
        if (!isPassing(response.status)) break;
      } catch (error) {
        fault = shortened(error instanceof Error ? error.message : String(error));
      }
    }
    throw new WandbError(`${this.base} did not accept what was sent (${fault})`);
  }

  private attempt(path: string, body: object): Promise<Response> {
    // Not as a method: browsers refuse to fetch for any object but their own.
    const { fetch } = this.server;
    return fetch(this.base + path, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(`api:${this.server.apiKey}`)}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([this.stop.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = later(milliseconds, resolve);
      const stopped = (): void => {
        cancel();
        resolve();
      };
      this.stop.signal.addEventListener("abort", stopped, { once: true });
    });
  }
}
