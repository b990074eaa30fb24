/**
 * @file The table of tags in the documentation is the one in the code.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TAGS } from "../../../src/train/loggers/scalars.ts";

test("docs/logging.md lists every tag", () => {
  const page = readFileSync(new URL("../../../docs/logging.md", import.meta.url), "utf8");
  const rows = Object.entries(TAGS).map(
    ([name, { sb3, cleanrl }]) => `| \`${name}\` | \`${sb3.tag}\` | \`${cleanrl.tag}\` |`,
  );
  expect(page).toContain(`\n${rows.join("\n")}\n`);
});
