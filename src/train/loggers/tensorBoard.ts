/**
 * @file Event files for TensorBoard, in a folder of their own. The horizontal axis is environment steps.
 *
 * A resumed run cuts what was logged after its checkpoint from the files that are there, and goes on in a new one: a
 * TensorBoard that watches the folder has read the old file further than it now goes.
 */
import { listFolder, makeFolder, removeFile } from "../../platform/files.ts";
import type { Logger, RunInfo, RunRecord } from "../records.ts";
import { bytesUpToStep, framed, restartEvent, scalarsEvent, textEvent, versionEvent } from "./eventFile.ts";
import { type LogFile, openLog } from "./logFile.ts";
import { type TagStyle, taggedScalars } from "./scalars.ts";

export interface TensorBoardOptions {
  /** Whose tags; those of Stable-Baselines3 unless told otherwise. */
  readonly style?: TagStyle;
  /** Seconds since 1970. */
  readonly clock?: () => number;
}

/** Names that sort in the order they were made in: TensorBoard reads a folder in this order. */
const OWN_FILE = /^events\.out\.tfevents\.(\d{10})\.lockstep$/;
const fileName = (second: number): string => `events.out.tfevents.${String(second).padStart(10, "0")}.lockstep`;

/** Cuts the files of a folder after a step and removes those of which nothing stays; the second of the last file. */
function cutFiles(folder: string, step: number): number {
  let last = 0;
  for (const name of listFolder(folder)) {
    const match = OWN_FILE.exec(name);
    if (match === null) continue;
    last = Number(match[1]);
    const path = `${folder}/${name}`;
    let kept = 0;
    openLog(path, (bytes) => {
      kept = bytesUpToStep(bytes, step, path);
      return kept;
    }).close();
    if (kept === 0) removeFile(path);
  }
  return last;
}

/** The configuration as Markdown: JSON in a block of code. */
const configText = ({ config }: RunInfo): string => `\`\`\`json\n${JSON.stringify(config, null, 2)}\n\`\`\``;

class TensorBoardLogger implements Logger {
  private readonly folder: string;
  private readonly style: TagStyle;
  private readonly clock: () => number;
  private log: LogFile | undefined;

  constructor(folder: string, { style = "sb3", clock = () => Date.now() / 1000 }: TensorBoardOptions) {
    this.folder = folder;
    this.style = style;
    this.clock = clock;
  }

  start(info: RunInfo): void {
    makeFolder(this.folder);
    // Of a new run nothing stays: not even what other runs logged at step 0.
    const last = cutFiles(this.folder, info.resumed?.steps ?? -1);
    const second = Math.max(Math.floor(this.clock()), last + 1);
    this.log = openLog(`${this.folder}/${fileName(second)}`, () => 0);
    // Every event of a file belongs to this part of the run: a later cut before it leaves nothing.
    const moment = { wallTime: this.clock(), step: info.resumed ? info.resumed.steps + 1 : 0 };
    this.append(versionEvent(moment));
    this.append(info.resumed ? restartEvent(moment) : textEvent(moment, "config", configText(info)));
  }

  record(record: RunRecord): void {
    const scalars = taggedScalars(record, this.style);
    if (scalars.length > 0) this.append(scalarsEvent({ wallTime: this.clock(), step: record.steps }, scalars));
  }

  end(): void {
    this.log?.close();
    this.log = undefined;
  }

  private append(event: Uint8Array): void {
    this.log?.append(framed(event));
  }
}

/** Writes event files for TensorBoard. A new run replaces those in the folder; a resumed one goes on after them. */
export const tensorBoardLogger = (folder: string, options: TensorBoardOptions = {}): Logger =>
  new TensorBoardLogger(folder, options);
