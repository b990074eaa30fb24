/**
 * @file What runs stand on: hashes, whole files, processes, plain data as text.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DRAFT, FileError, writeWhole } from "../../src/platform/files.ts";
import { ownProcess, type ProcessIdentity, runs } from "../../src/platform/processes.ts";
import { portableSha256, sha256 } from "../../src/platform/sha256.ts";
import { fromJson, PlainDataError, readPlain, writePlain } from "../../src/train/plainData.ts";
import { newPath } from "./support.ts";

test("hashes are those of SHA-256", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const wanted = createHash("sha256").update(bytes).digest("hex");
      expect(portableSha256(bytes)).toBe(wanted);
      expect(sha256(bytes)).toBe(wanted);
    }),
  );
});

test("a file that could not be written leaves no draft", () => {
  const path = newPath("file");
  mkdirSync(path);
  expect(() => writeWhole(path, [new Uint8Array(3)])).toThrow(FileError);
  expect(existsSync(path + DRAFT)).toBe(false);
});

test("processes run, do not, or are somewhere else", () => {
  const own = ownProcess() as ProcessIdentity;
  expect(runs(own)).toBe(true);
  expect(runs({ ...own, pid: 2 ** 22 + 12345 })).toBe(false);
  expect(runs({ ...own, host: `not ${own.host}` })).toBeUndefined();
  // A number that was given again.
  if (own.began) expect(runs({ ...own, began: "another start" })).toBe(false);
});

describe("plain data", () => {
  const leaf = fc.oneof(
    fc.double(),
    fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.float32Array(),
    fc.int32Array(),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      leaf,
      fc.array(tie("any")),
      fc.dictionary(
        fc.string().filter((key) => key !== "$"),
        tie("any"),
      ),
    ),
  })).any;
  test("comes back as it was", () => {
    fc.assert(
      fc.property(value, (x) => {
        expect(readPlain(writePlain(x, "it"))).toEqual(structuredClone(x));
      }),
    );
  });
  test("is all that can be written", () => {
    expect(() => writePlain({ a: [1, () => 1] }, "the state")).toThrow("the state.a[1] is a function");
    expect(() => writePlain({ a: new Map() }, "the state")).toThrow("the state.a is a Map");
    expect(() => writePlain({ $: 1 }, "the state")).toThrow('a record with the key "$"');
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => writePlain(circle, "the state")).toThrow(PlainDataError);
  });
  test("of a hostile file is data, or refused", () => {
    expect(Object.getPrototypeOf(readPlain('{"__proto__": {"polluted": 1}}'))).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    for (const text of [
      '{"$": "constructor"}',
      '{"$": "f32", "values": ["x"]}',
      '{"$": 1}',
      "[".repeat(200) + "]".repeat(200),
      "{",
    ])
      expect(() => readPlain(text)).toThrow(PlainDataError);
    expect(fromJson({ $: "f32", values: [1, { $: "NaN" }] })).toEqual(new Float32Array([1, Number.NaN]));
  });
});
