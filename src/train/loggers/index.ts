/**
 * @file Loggers: who receives what a run tells.
 */
export { combine } from "./combine.ts";
export { CsvError, csvLogger } from "./csv.ts";
export { EventFileError } from "./eventFile.ts";
export { jsonlLogger, parseRecords, RecordError } from "./jsonl.ts";
export { type LineOptions, lineLogger } from "./lines.ts";
export { Progress, type ProgressState } from "./progress.ts";
export { TAGS, type TagStyle, taggedScalars } from "./scalars.ts";
export { render } from "./table.ts";
export { type TensorBoardOptions, tensorBoardLogger } from "./tensorBoard.ts";
export { type TerminalOptions, type TerminalStream, terminalLogger } from "./terminal.ts";
export { type WandbOptions, wandbLogger } from "./wandb.ts";
export { WandbError } from "./wandbApi.ts";
