/**
 * @file A server on this machine that answers as Weights & Biases does, as far as a run needs it, and fails on demand.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

interface StreamBody {
  readonly files?: { readonly [name: string]: { readonly offset: number; readonly content: readonly string[] } };
  readonly complete?: boolean;
  readonly exitcode?: number;
}

export interface FakeRun {
  readonly history: string[];
  summary: string;
  config: string;
  displayName: string;
  exitcode?: number;
}

/** What to do with a request instead of answering it: a status, or no answer at all. */
export type Fault = number | "silence";

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text;
}

export class FakeWandb {
  readonly runs = new Map<string, FakeRun>();
  readonly requests: { readonly path: string; readonly authorization: string | undefined; readonly body: string }[] =
    [];
  /** Asked before each request; the number of requests so far comes with it. */
  fault: (path: string, request: number) => Fault | undefined = () => undefined;
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
  }

  static async start(): Promise<FakeWandb> {
    const server = createServer();
    const fake = new FakeWandb(server);
    server.on("request", async (request, response) => {
      const path = request.url ?? "";
      const body = await bodyOf(request);
      fake.requests.push({ path, authorization: request.headers.authorization, body });
      const fault = fake.fault(path, fake.requests.length);
      if (fault === "silence") return;
      const answer = fault === undefined ? fake.answer(path, JSON.parse(body)) : { error: `fault ${fault}` };
      response.writeHead(fault ?? 200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Steps of the history of a run. */
  steps(id: string): number[] {
    return (this.runs.get(id)?.history ?? []).map((line) => JSON.parse(line)._step);
  }

  private answer(path: string, body: { query?: string; variables?: { [name: string]: string } } & StreamBody): unknown {
    if (path !== "/graphql") return this.stream(path, body);
    const name = body.variables?.name ?? "";
    return body.query?.startsWith("query") ? this.position(name) : this.upsert(name, body.variables ?? {});
  }

  private upsert(name: string, variables: { readonly [name: string]: string }): unknown {
    const { config = "", displayName = "", project = "", entity = "default-entity" } = variables;
    const run = this.runs.get(name) ?? { history: [], summary: "", config, displayName };
    this.runs.set(name, run);
    return {
      data: { upsertBucket: { bucket: { id: "x", name, project: { name: project, entity: { name: entity } } } } },
    };
  }

  private position(name: string): unknown {
    const run = this.runs.get(name);
    const bucket = run && {
      name,
      historyLineCount: run.history.length,
      historyTail: JSON.stringify(run.history.slice(-1)),
    };
    return { data: { model: { bucket: bucket ?? null } } };
  }

  private stream(path: string, { files = {}, complete, exitcode }: StreamBody): unknown {
    const run = this.runs.get(/^\/files\/[^/]+\/[^/]+\/([^/]+)\/file_stream$/.exec(path)?.[1] ?? "");
    if (run === undefined) return { error: "no such run" };
    const history = files["wandb-history.jsonl"];
    history?.content.forEach((line, k) => {
      run.history[history.offset + k] = line;
    });
    run.summary = files["wandb-summary.json"]?.content.at(-1) ?? run.summary;
    if (complete && exitcode !== undefined) run.exitcode = exitcode;
    return { limits: {} };
  }
}
