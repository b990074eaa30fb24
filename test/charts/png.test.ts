import { describe, expect, test } from "vitest";
import { lineChart } from "../../src/charts/index.ts";
import { PngError, renderPng } from "../../src/platform/png.ts";

const svg = lineChart({
  title: "Return",
  series: [{ label: "", x: [0, 1, 2], y: [0, 2, 1] }],
  width: 300,
  height: 200,
});
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const isThere = await import("@resvg/resvg-js").then(
  () => true,
  () => false,
);
/** Width and height stand in the first chunk of a file. */
const sizeOf = (png: Uint8Array): [number, number] => {
  const view = new DataView(png.buffer, png.byteOffset);
  return [view.getUint32(16), view.getUint32(20)];
};

describe("PNG pictures", () => {
  test.runIf(isThere)("have the size of the picture, or the width that is asked for", async () => {
    const png = await renderPng(svg);
    expect([...png.subarray(0, 8)]).toEqual(SIGNATURE);
    expect(sizeOf(png)).toEqual([300, 200]);
    expect(sizeOf(await renderPng(svg, { width: 600 }))).toEqual([600, 400]);
  });

  test.runIf(isThere)("are not made of what is no picture", async () => {
    await expect(renderPng("<svg")).rejects.toThrow(PngError);
  });

  test("need a package, which is named when it is missing", async () => {
    const missing = renderPng(svg, {}, "no-such-package-here");
    await expect(missing).rejects.toThrow(PngError);
    await expect(missing).rejects.toThrow(/no-such-package-here.*npm install no-such-package-here/);
  });

  test("need a width in pixels", async () => {
    await expect(renderPng(svg, { width: 0 })).rejects.toThrow(/width is 0/);
    await expect(renderPng(svg, { width: 1e9 })).rejects.toThrow(PngError);
  });
});
